// SPDX-License-Identifier: MIT OR Apache-2.0
// The first version of glibc's functions, and of today's condition variables: on arm64, which glibc has had since 2.17,
// they are the same.
#ifndef HF_TESTS_POSIX_FIRST_VERSIONS_H
#define HF_TESTS_POSIX_FIRST_VERSIONS_H

#ifdef __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#define FIRST_VERSION_OF_COND "GLIBC_2.3.2"
#else
#define FIRST_VERSION "GLIBC_2.17"
#define FIRST_VERSION_OF_COND "GLIBC_2.17"
#endif

#endif
