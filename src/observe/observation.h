// SPDX-License-Identifier: MIT OR Apache-2.0
// What the locks call to have noted what they do (observe/statistics_memory.h). A thread pays a comparison when it
// takes a lock and one when it gives it back; the rest is out of line, and most of it comes after a
// lock was given back.
//
// A thread observes up to HF_OBSERVED_MAX acquisitions, each from when it has the lock until it gives it back:
//
//                note_free, note_wait                    note_release
//     nothing ----------------------------> observes --------------------> nothing, and the entry has it all
//                                            |    ^
//                                            +----+  the lock can't be held any more: the same one is taken again;
//                                                    or it has been for so long that its release was probably
//                                                    not seen (glibc's functions, another thread)
//
// What comes to be observed while as many others are, is noted at once, but for how long it is held.
//
// Which acquisitions a thread observes, and which time is added up for how many (notes.W1):
//
//     it slept for the lock        each one; its wait and its hold stand for themselves
//     it spun only                 some; each stands for those since the one before
//     it found the lock free       some; likewise
//
// The more of them come in a while, the fewer are observed: one in HF_NOTED_PERIOD at the fewest, and about one in 1.4
// milliseconds (at 3 GHz). So a lock that is seldom taken is observed each time, and one that is taken often costs no
// more. Gaps are random, so that no pattern of a program's meets them.
//
// The release after an acquisition at which the thread is to look whether its turn on the CPU is over
// (lock/wait/turn.h) comes here as well.
//
// A holder that makes others sleep may be none that is observed. The first of those that sleep marks when it saw the
// lock held; the release that wakes one of them, or hands the lock over, finds the mark, and has held it at least that
// long. That hold stands for itself, and so does an observed one that ends so. No other sleep leaves a mark, since no
// release ends it: a timed one, and one for a slice of u-SCL's, in which many sections may begin and end. Reader-writer
// locks and spinlocks have no holding times.
//
// notes.W1  Each wait and each hold is in exactly one of these classes, by what it is and not by how long it takes, and
//     within a class an acquisition is chosen before its time is known. So sums are estimates without bias, and
//     those of sleeping waits exact.
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

// Of a thread's waits without sleep one in so many is timed when they are many.
enum { HF_SPINS_NOTED_PERIOD = 61 };

// How the caller came to a lock.
enum hf_acquired {
    HF_ACQUIRED_FREE,
    HF_ACQUIRED_SPINNING,
    HF_ACQUIRED_ASLEEP,
};

// A wait for a lock, on the waiter's stack.
struct hf_wait {
    struct hf_thread_record *self;
    const void *lock;     // what it is in statistics
    uint64_t began_ticks; // 0: nothing is noted
    uint64_t asleep_since;
    uint64_t asleep_ticks;
    uint64_t mark;      // that it has left for the release, or 0
    uint64_t has_since; // it has the lock, or 0: since the wait's end
    uint32_t sleeps;
    bool keeps_mark; // until the wait's end
};

static inline struct hf_wait hf_wait_begin(struct hf_thread_record *self, const void *lock) {
    struct hf_wait wait = {.self = self,
                           .lock = lock,
                           .began_ticks = 0,
                           .asleep_since = 0,
                           .asleep_ticks = 0,
                           .mark = 0,
                           .has_since = 0,
                           .sleeps = 0,
                           .keeps_mark = false};
    if (hf_statistics_are_on() && self->tid) // a record that threads share observes nothing
        wait.began_ticks = hf_ticks();
    return wait;
}

// Of a wait that is noted.
void hf_note_sleep(struct hf_wait *wait) __attribute__((cold, visibility("hidden")));
void hf_note_end_of_sleep(struct hf_wait *wait) __attribute__((cold, visibility("hidden")));
void hf_note_that_it_is_held(struct hf_wait *wait) __attribute__((cold, visibility("hidden")));

static inline void hf_wait_falls_asleep(struct hf_wait *wait) {
    hf_thread_falls_asleep(wait->self);
    if (wait->began_ticks)
        hf_note_sleep(wait);
}

// After that, of who found the lock held and has announced a sleeper, or claimed it: the owner's release will wake one.
static inline void hf_wait_marks_hold(struct hf_wait *wait) {
    if (wait->began_ticks)
        hf_note_that_it_is_held(wait);
}

// From now on the waiter awakes to look and sleeps again, and nobody wakes it for another thread's sake: the hold that
// it has marked goes on meanwhile, or its release takes the mark.
static inline void hf_wait_keeps_mark(struct hf_wait *wait) {
    wait->keeps_mark = true;
}

// Another thread has handed the lock over to it, at that time (0: not known).
static inline void hf_wait_has_it_since(struct hf_wait *wait, uint64_t ticks) {
    wait->has_since = ticks;
}

static inline void hf_wait_awakes(struct hf_wait *wait) {
    hf_thread_awakes(wait->self);
    wait->sleeps++;
    if (wait->began_ticks)
        hf_note_end_of_sleep(wait);
}

// The caller has found the lock free and taken it, and hf_count_acquisition said that it is to look up.
void hf_note_free(const void *lock, struct hf_thread_record *self, enum hf_statistics_kind kind)
    __attribute__((cold, visibility("hidden")));

void hf_note_wait_slowly(const void *lock, struct hf_thread_record *self, enum hf_statistics_kind kind,
                         struct hf_wait *wait, bool acquired) __attribute__((cold, visibility("hidden")));

// The caller has waited, and has the lock or, with `acquired` false, has given up.
static inline void hf_note_wait(const void *lock, struct hf_thread_record *self, enum hf_statistics_kind kind,
                                struct hf_wait *wait, bool acquired) {
    if (wait->began_ticks)
        hf_note_wait_slowly(lock, self, kind, wait, acquired);
}

// Plans the thread's next look. For how many acquisitions the present one stands; 0: it is none to be noted.
uint32_t hf_plan_next_look(struct hf_thread_record *self) __attribute__((cold, visibility("hidden")));

// Counts an acquisition after a wait. When its turn to be noted comes in vain, so be it: it stands for as many.
static inline void hf_count_waited_acquisition(struct hf_thread_record *self) {
    if (HF_UNLIKELY(hf_count_acquisition(self)))
        hf_plan_next_look(self);
}

// Whether there is more to do when the thread gives back one of the locks that it holds.
static inline bool hf_observes(const struct hf_thread_record *self) {
    return self->observed != 0;
}

static inline bool hf_has_timed_holds(const struct hf_thread_record *self) {
    return (self->observed & ~HF_TURN_LOOK) != 0;
}

struct hf_hold_end {
    uint64_t at_ticks;
    uint64_t marked_ticks; // for so long it was held at least while a thread slept for it; 0: not known
};

struct hf_hold_end hf_hold_ends_slowly(const void *lock, bool wakes) __attribute__((cold, visibility("hidden")));

// The caller has given back the lock and, if it `wakes` a sleeper, is about to do so; or it is about to hand the lock
// over. Before the wake: the thread that awakes takes its mark away, and may have the caller's CPU.
static inline struct hf_hold_end hf_hold_ends(const void *lock, const struct hf_thread_record *self, bool wakes) {
    if (HF_UNLIKELY((wakes || hf_has_timed_holds(self)) && hf_statistics_are_on()))
        return hf_hold_ends_slowly(lock, wakes);
    struct hf_hold_end unknown = {0, 0};
    return unknown;
}

bool hf_note_release_slowly(const void *lock, struct hf_thread_record *self, struct hf_hold_end end)
    __attribute__((cold, visibility("hidden")));

// The hold has ended, and the caller has woken whoever it had to. True when the thread is to look whether its turn is
// over.
static inline bool hf_note_release(const void *lock, struct hf_thread_record *self, struct hf_hold_end end) {
    return HF_UNLIKELY(end.marked_ticks || hf_observes(self)) && hf_note_release_slowly(lock, self, end);
}

// The caller has held the lock for so long since this was said last. Of locks that keep accounts.
void hf_note_held(const void *lock, struct hf_thread_record *self, uint64_t ticks)
    __attribute__((cold, visibility("hidden")));

// The lock is initialised, by a call that returns to `site`.
void hf_note_creation(const void *lock, const void *site) __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
