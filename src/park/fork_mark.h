// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether a forked child has put in order what its parent's other threads left in the middle of a change. A word in a
// page that the kernel zeroes in a child (MADV_WIPEONFORK): so a child knows it from its first instruction on, also
// after _Fork(), which runs no handlers.
//
//                fork             the first thread to come              it is done
//     KNOWN ---------> UNKNOWN -----------------------------> REPAIRED ----------> KNOWN
//
// F1  Nobody uses what is in disorder: who comes while another thread repairs it waits until the word is KNOWN.
// F2  Who repairs is not interrupted: a signal handler of its own that came here would wait for itself.
#ifndef HF_PARK_FORK_MARK_H
#define HF_PARK_FORK_MARK_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "park/nap.h"

enum hf_fork_mark {
    HF_FORK_UNKNOWN = 0, // as the kernel leaves it
    HF_FORK_REPAIRED,    // right now
    HF_FORK_KNOWN,
};

// What everybody asks first.
static inline bool hf_fork_is_known(const uint32_t *mark) {
    return HF_LIKELY(hf_load_acquire(mark) == HF_FORK_KNOWN); // pairs with the release in hf_fork_mark_known
}

// True: the caller repairs, then calls hf_fork_mark_known with the same `saved`. False: it has been done.
static inline bool hf_fork_begin_repair(uint32_t *mark, sigset_t *saved) {
    enum { HF_REPAIR_NAP_NS = 50 * 1000 };
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, saved); // F2
    if (hf_cas_acquire(mark, (uint32_t)HF_FORK_UNKNOWN, HF_FORK_REPAIRED))
        return true;
    pthread_sigmask(SIG_SETMASK, saved, NULL);
    while (!hf_fork_is_known(mark)) // F1
        hf_nap(HF_REPAIR_NAP_NS);
    return false;
}

static inline void hf_fork_mark_known(uint32_t *mark, const sigset_t *saved) {
    hf_store_release(mark, (uint32_t)HF_FORK_KNOWN); // pairs with the acquire in hf_fork_is_known
    pthread_sigmask(SIG_SETMASK, saved, NULL);
}

#endif
