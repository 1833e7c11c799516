// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether a process has one thread. Then what it does to memory of its own need not be atomic.
#ifndef HF_BASE_SINGLE_THREADED_H
#define HF_BASE_SINGLE_THREADED_H

#include <stdbool.h>
#include <sys/single_threaded.h>

// Is the caller the only thread of its process? glibc says so, for its own mutexes: from the first pthread_create on it
// is not. No answer changes while the caller does something else than to create or join a thread.
static inline bool hf_is_only_thread(void) {
    return __libc_single_threaded;
}

#endif
