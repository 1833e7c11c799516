// SPDX-License-Identifier: MIT OR Apache-2.0
// u-SCL, the scheduler-cooperative mutex (Patel et al., EuroSys '20, section 4.3): shares the *time* that a lock can be
// used among those who use it, in proportion to their scheduling weights (nice values). A thread, or a class of
// threads, has the lock for a slice: while it lasts, only that class takes the lock. One that has used more than its
// share waits until the others have had the chance to use theirs.
//
// Guarantees: mutual exclusion; no wake-up is lost; among classes that keep wanting the lock, each holds it in
// proportion to its weight, whatever the lengths of their critical sections; a wait for a share ends. Not guaranteed:
// first come, first served. Departures from the paper: docs/uscl.md.
#ifndef HOLDFAST_USCL_H
#define HOLDFAST_USCL_H

#include "holdfast/api.h"

#ifdef __cplusplus
extern "C" {
#endif

// All fields are private. 16 bytes; what else a contended lock needs is allocated when two threads first meet at it.
typedef struct hf_uscl {
    uint32_t word;
    uint32_t options;
    struct hf_slices *slices;
} hf_uscl_t;

#define HF_USCL_INIT                                                                                                   \
    { 0, 0, 0 }

enum {
    HF_USCL_SLICE_US_MAX = 100000,
    HF_USCL_INACTIVE_MS_MAX = 10000,
};

// Makes the lock free, with the process's default slice. Zeroed memory is a free lock too.
static inline void hf_uscl_init(hf_uscl_t *lock) {
    hf_uscl_t fresh = HF_USCL_INIT;
    *lock = fresh;
}

// Gives back what the lock has allocated. Requires that nobody uses it. Not needed for correctness: a lock that is not
// destroyed keeps some hundreds of bytes, which the next lock at the same address takes over.
HF_API void hf_uscl_destroy(hf_uscl_t *lock);

// Sets the length of the lock's slices, from the next slice on: 0 (a slice is one critical section) to
// HF_USCL_SLICE_US_MAX microseconds. Returns 0 or EINVAL. May be called at any time.
HF_API int hf_uscl_set_slice(hf_uscl_t *lock, uint32_t slice_us);

// The same for all locks whose slice was not set: 2,000 when the process starts.
HF_API int hf_uscl_set_default_slice(uint32_t slice_us);

// Makes the lock work-conserving, or not: then a thread that finds the lock free takes it, also in another class's
// slice, and nobody waits while the lock is free because of what it has used. May be called at any time.
HF_API void hf_uscl_set_work_conserving(hf_uscl_t *lock, bool work_conserving);

// Sets how long a class still takes part after it has used the lock: 1 to HF_USCL_INACTIVE_MS_MAX milliseconds; 1,000
// where nothing was set. As long others wait for its sake when they have used more than their share; then it is
// forgotten, with all that it has used. Takes effect when a thread next comes to wait; a ban that has begun by then
// ends as it was to. Returns 0 or EINVAL. May be called at any time.
HF_API int hf_uscl_set_inactive(hf_uscl_t *lock, uint32_t inactive_ms);

// Puts the calling thread into a class: threads of one class have a share in common, of every lock. 0: a class of its
// own, as every thread has when it starts. The weight of a class is that of the thread of it that came last, looked up
// at most each millisecond.
// Requires that the caller holds no lock of this kind.
HF_API void hf_uscl_set_class(uint32_t number);

// Takes the lock; waits while another thread has it, while the slice is another class's, and while the caller's class
// has used more than its share. Requires that the caller does not hold it. What the last holder wrote is visible
// afterwards. A thread that holds another lock of Holdfast's does not wait for its share: others wait for that lock.
HF_API void hf_uscl_lock(hf_uscl_t *lock);

// Takes the lock if it is free at once, whosever the slice is, and says whether it did. Never waits and never fails
// spuriously. What it uses is counted.
HF_API bool hf_uscl_trylock(hf_uscl_t *lock);

// Takes the lock, or gives up at the absolute time `deadline` on `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC).
// Returns 0; ETIMEDOUT; or EINVAL, without waiting, when the caller would have to wait and the clock is another one or
// deadline->tv_nsec is not within 0 to 999,999,999. A deadline in the past is allowed: the lock is tried once.
HF_API int hf_uscl_clocklock(hf_uscl_t *lock, int clock, const struct timespec *deadline);

// Gives the lock back. Requires that the calling thread holds it. Once another thread has the lock it may free the
// lock's memory, even before this call has returned.
HF_API void hf_uscl_unlock(hf_uscl_t *lock);

#ifdef __cplusplus
}
#endif

#endif
