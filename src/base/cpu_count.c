// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/cpu_count.h"

#include <stdint.h>

#include "base/atomic.h"
#include "base/system_call.h"

// Where the kernel does not tell: one, on which nobody polls for what another thread is to do.
static unsigned count(void) {
    enum { HF_MASK_WORDS = 128 }; // 8,192 CPUs, the most that Linux is built for
    uint64_t usable[HF_MASK_WORDS] = {0};
    long bytes = hf_sys_sched_getaffinity(0, sizeof(usable), usable);
    unsigned cpus = 0;
    for (long word = 0; word < bytes / (long)sizeof(usable[0]); word++)
        cpus += (unsigned)__builtin_popcountll(usable[word]);
    return cpus > 0 ? cpus : 1;
}

// At the start: a sandbox that is built later may not allow the question.
__attribute__((constructor)) static void count_at_start(void) {
    hf_cpus_usable();
}

unsigned hf_cpus_usable(void) {
    static unsigned known;
    unsigned cpus = hf_load_relaxed(&known);
    if (cpus == 0) {
        cpus = count();
        hf_store_relaxed(&known, cpus); // threads that come here together may count twice
    }
    return cpus;
}
