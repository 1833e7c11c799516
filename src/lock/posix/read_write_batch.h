// SPDX-License-Identifier: MIT OR Apache-2.0
// Batches of a hot reader-writer lock: a thread that has to wait for it leaves it to those that have it, for a slice.
//
// Threads that do nothing but use one lock, for some ten nanoseconds at a time, are fastest one after another: when two
// CPUs use it at the same time its line goes to and fro at each use, for readers as for writers. A mutex has batches
// for that (defer_policy.h). Here a thread that could enter does not wait, which readers mostly can; but as soon as one
// meets a writer, or a writer one of them, that one stays away while the lock is hot, and the others have the line to
// themselves. docs/interposer.md, "Reader-writer locks".
//
//     has to wait --> known as cold, and spinning pays? -- no --> polls while it is hot, and leaves it --> takes it
//                         | yes                                       | cold, or the slice is over
//                         v                                           v
//                      waits as for any lock (read_write_lock.c) <----+
//
// A writer that has not had it in its slice goes on while spinning pays: it polls for it either way. One that is to be
// first among others does not, nor does it yield its CPU: readers must not get in before it any longer than that.
//
// Releases are counted beside the state: nearly all, and what looks like one, a reader's that goes away again. A lock
// that somebody has found cold is taken for cold for the next ones, whatever they are: to look at each wait costs a
// fifth of what two writers do with sections of a third of a microsecond. Where spinning does not pay the choice is
// between a look and the kernel.
//
// rwlock.B1  Bounded, as wait.P1 to P4 have it (defer_policy.h, yield_policy.h). A thread that polls here is no holder,
//     and neither counted as a reader nor announced as a sleeper or as a writer that waits: nobody waits for it, and no
//     wake can be meant for it. Hence rwlock.RW1 to RW4 are what they are without.
#ifndef HF_LOCK_POSIX_READ_WRITE_BATCH_H
#define HF_LOCK_POSIX_READ_WRITE_BATCH_H

#include "hint/hint.h"
#include "lock/posix/read_write_state.h"
#include "lock/wait/tuning.h"
#include "observe/observation.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline bool hf_rw_is_known_as_cold(const struct hf_rw_lock *lock) {
    return (hf_release_count)(hf_load_relaxed(&lock->releases) - hf_load_relaxed(&lock->cold_since)) <
           HF_RW_COLD_RELEASES;
}

// Whether a thread that has to wait should try to have it in turn.
static inline bool hf_rw_may_be_had_in_turn(const struct hf_rw_lock *lock) {
    return !hf_rw_is_known_as_cold(lock) || !hf_spinning_pays();
}

enum hf_rw_use { HF_RW_TO_READ, HF_RW_TO_WRITE, HF_RW_TO_WRITE_FIRST };

// Polls while the lock is hot; the caller is neither counted nor critical. True with the lock held and the caller
// critical; false when it has to wait as for any lock. With a deadline it does not yield its CPU.
bool hf_rw_take_in_turn(struct hf_rw_lock *lock, struct hf_thread_record *self, enum hf_rw_use use,
                        const struct hf_deadline *deadline, struct hf_wait *wait) __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
