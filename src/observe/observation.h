// SPDX-License-Identifier: MIT OR Apache-2.0
// What the locks call to have noted what they do (observe/statistics_memory.h). A thread pays a comparison when it
// takes a lock and one when it gives it back; the rest is out of line, and most of it comes after a
// lock was given back.
//
// A thread observes one acquisition at a time, from the moment that it has the lock until it gives it back:
//
//               note_free, note_acquired                 note_release
//     nothing ----------------------------> observes --------------------> nothing, and the entry has it all
//                                            |    ^
//                                            +----+  the lock can't be held any more: the same one is taken again;
//                                                    or it has been for so long that its release was probably
//                                                    not seen (glibc's functions, another thread)
//
// What comes to be observed while something else is, is noted at once, but for how long it is held.
//
// notes.O1  Noting never waits, fails or touches a lock's memory: it knows the address only. So it changes neither who
//     owns a lock nor who is woken, and the lock may be gone.
// notes.O2  A forked child notes nothing until it has memory of its own: the pointer to its parent's is wiped by the
//     fork. A signal handler that takes locks may spoil the observation that it interrupts; nothing else.
#ifndef HF_OBSERVE_OBSERVATION_H
#define HF_OBSERVE_OBSERVATION_H

#include <stdbool.h>

#include "base/clock.h"
#include "observe/noting_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

// Begins to note into the memory behind the descriptor (not closed here). False with errno when it can't be mapped, is
// of another version, or isn't there. Requires that no other thread of the process runs. Must be called once in a
// process at most; in a forked child, once more.
bool hf_statistics_begin(int fd);

// From now on nothing is noted of acquisitions that did not wait: it takes a look at the processor's counter.
void hf_statistics_forgo_clock(void) __attribute__((cold, visibility("hidden")));

// How the caller came to a lock.
enum hf_acquired {
    HF_ACQUIRED_FREE,
    HF_ACQUIRED_SPINNING,
    HF_ACQUIRED_ASLEEP,
};

// A wait for a lock, on the waiter's stack.
struct hf_wait {
    struct hf_thread_record *self;
    uint64_t began_ticks; // 0: not timed
    uint64_t asleep_since;
    uint64_t asleep_ticks;
    uint32_t sleeps;
};

// Called before the wait is counted (`contended`). Most waits are not timed, and then ask for no time.
static inline struct hf_wait hf_wait_begin(struct hf_thread_record *self) {
    struct hf_wait wait = {self, 0, 0, 0, 0};
    uint64_t number = hf_counters(self)->contended;
    if (hf_statistics_are_on() && (number + self->tid) % HF_CONTENDED_PERIOD == 0)
        wait.began_ticks = hf_ticks();
    return wait;
}

static inline void hf_wait_falls_asleep(struct hf_wait *wait) {
    hf_thread_falls_asleep(wait->self);
    if (wait->began_ticks)
        wait->asleep_since = hf_ticks();
}

static inline void hf_wait_awakes(struct hf_wait *wait) {
    hf_thread_awakes(wait->self);
    wait->sleeps++;
    if (wait->began_ticks)
        wait->asleep_ticks += hf_ticks() - wait->asleep_since;
}

// The caller has found the lock free and taken it, and hf_count_acquisition said that it is to look up.
void hf_note_free(const void *lock, struct hf_thread_record *self, enum hf_statistics_kind kind)
    __attribute__((cold, visibility("hidden")));

void hf_note_wait_slowly(const void *lock, struct hf_thread_record *self, enum hf_statistics_kind kind,
                         const struct hf_wait *wait, bool acquired) __attribute__((cold, visibility("hidden")));

// The caller has waited, and has the lock or, with `acquired` false, has given up.
static inline void hf_note_wait(const void *lock, struct hf_thread_record *self, enum hf_statistics_kind kind,
                                const struct hf_wait *wait, bool acquired) {
    if (HF_UNLIKELY(wait->began_ticks || wait->sleeps || !acquired))
        hf_note_wait_slowly(lock, self, kind, wait, acquired);
}

// Plans the thread's next look. True when this acquisition is to be noted.
static inline bool hf_next_is_to_be_noted(struct hf_thread_record *self) {
    hf_look_up_after(self, HF_LOOKS_APART);
    return hf_counters(self)->acquisitions % HF_NOTED_PERIOD == 0;
}

// Counts an acquisition after a wait. When its turn to be noted comes in vain, the next one's is as far away as ever,
// and so is the next look.
static inline void hf_count_waited_acquisition(struct hf_thread_record *self) {
    if (HF_UNLIKELY(hf_count_acquisition(self)))
        hf_next_is_to_be_noted(self);
}

static inline bool hf_is_observed(const struct hf_thread_record *self, const void *lock) {
    return self->observed == lock;
}

// The caller has given back the lock that it observes.
void hf_note_release(struct hf_thread_record *self) __attribute__((cold, visibility("hidden")));

// The caller has held the lock for so long since this was said last. Of locks that keep accounts.
void hf_note_held(const void *lock, struct hf_thread_record *self, uint64_t ticks)
    __attribute__((cold, visibility("hidden")));

// The lock is initialised, by a call that returns to `site`.
void hf_note_creation(const void *lock, const void *site) __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
