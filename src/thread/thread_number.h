// SPDX-License-Identifier: MIT OR Apache-2.0
// The number of the calling thread: what owners of mutexes are told apart by. So it must not depend on anything that a
// sandbox may refuse: were the kernel's refusal taken for a number, all threads would be one, and a recursive mutex
// would let them all in.
//
//     libc's own       what it keeps for its mutexes, where it tells debuggers that it does. Under the interposer
//     the kernel's     the same number, asked for
//     one of ours      where that is refused: above all of the kernel's
#ifndef HF_THREAD_THREAD_NUMBER_H
#define HF_THREAD_THREAD_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The kernel's are below 2^22, and the bits from here on mean something else in a futex word.
#define HF_TIDS_OF_OURS (UINT32_C(1) << 29)

uint32_t hf_tid_asked(void) __attribute__((cold));

// From now on libc's own number is taken, which lies so far from a thread's thread pointer. False, and nothing changes,
// if the caller's is not there.
bool hf_tids_are_at(ptrdiff_t offset) __attribute__((cold));

// Is it? Then asking calls no kernel, and a process that has this one's memory (vfork) has the number of the thread
// that waits for it.
bool hf_tids_are_libcs(void);

#ifdef __cplusplus
}
#endif

#endif
