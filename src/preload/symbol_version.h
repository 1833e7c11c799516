// SPDX-License-Identifier: MIT OR Apache-2.0
// Exporting a function under glibc's name and version. A program's reference carries the version that it was linked
// against, and the dynamic linker binds it to ours only where that version matches: so each version is exported, one
// that means another function as that one (old_cond.c).
#ifndef HF_PRELOAD_SYMBOL_VERSION_H
#define HF_PRELOAD_SYMBOL_VERSION_H

// What is older than the first glibc of an architecture has that one's version there. The architecture is named here
// and in CMakeLists.txt, which makes its export map of exports.map by the same rule.
#if defined(__x86_64__)
#define HF_GLIBC_FIRST "GLIBC_2.2.5"
#define HF_GLIBC_HAS_OLD_CONDS // what is called pthread_cond_wait in the first version is another function
#define HF_GLIBC_2_3_2 "GLIBC_2.3.2"
#define HF_GLIBC_2_3_4 "GLIBC_2.3.4"
#elif defined(__aarch64__)
#define HF_GLIBC_FIRST "GLIBC_2.17"
#define HF_GLIBC_2_3_2 HF_GLIBC_FIRST
#define HF_GLIBC_2_3_4 HF_GLIBC_FIRST
#else
#error "glibc's first version on this architecture: see the ports in glibc's shlib-versions"
#endif

// gcc may put a function elsewhere than the file's own assembly sees; the attribute knows where it is.
#define HF_EXPORT(function, name, version)                                                                             \
    extern __typeof__(function) hf_export_##name                                                                       \
        __attribute__((alias(#function), visibility("default"), symver(#name "@@" version)))

#define HF_EXPORT_OLDER(function, name, older)                                                                         \
    extern __typeof__(function) hf_export_older_##name                                                                 \
        __attribute__((alias(#function), visibility("default"), symver(#name "@" older)))

#define HF_EXPORT_TWICE(function, name, older, newer)                                                                  \
    HF_EXPORT_OLDER(function, name, older);                                                                            \
    HF_EXPORT(function, name, newer)

#endif
