// SPDX-License-Identifier: MIT OR Apache-2.0
// Slices: which class may come to a lock's word, and for how long. One object for each lock that was ever contended.
// The word alone decides which thread is inside (word.I1, I2, park/word_lock.h): a thread that errs about slices waits
// at the word.
//
//                 the first of the class gets the word          the time is over
//     PENDING ---------------------------------------> RUNNING -------------------> OVER
//       ^ ^                                                                          |
//       | +--------------------- somebody waits and may: chosen --------------------+
//       |                                                                            | all who wait are banned
//       +------- a ban is over, or somebody comes who is not banned ---- NOBODYS <---+
//
//     state      owner    slice_end
//     PENDING    a share  0            chosen, on its way to the word; late from due_at on
//     RUNNING    a share  to come
//     OVER       a share  past         the class may still be inside; the next one is chosen all the same
//     NOBODYS    NULL     0            until due_at, a ban's end
//
// Waiters are in a queue and sleep until chosen. The chooser is whichever thread sees that a slice is over: the thread
// that gives the lock back then, one that comes, or the *timekeeper*, a waiter that keeps the time. A slice is over
// before its time when its owner exits, or goes to wait for a condition, or sleeps for another lock that Holdfast knows
// (not one of glibc's, a barrier, or a lock with a gate): it can't or does not want to use the rest. (Sleeps: if
// somebody comes here then, or waits already; of those the owner knows, begun_slices.h.) Not so where several threads
// of the class have come to wait here: the others may use it. And it is over, for a thread that looks while somebody
// waits, when its owner has used next to nothing of it and is not inside.
//
// Invariants, all under the guard:
// uscl.U1  Time is kept. While somebody waits and the slice is RUNNING, OVER or NOBODYS, there is a timekeeper. It
//     looks first whether the slice is used, then no later than at the slice's end or the ban's, whichever the state
//     waits for. A slice of no length needs none: it is over from the start, which its first section's unlock sees
//     whatever its CPU's clock. Nor does a PENDING one:
// uscl.U2  PENDING ends. The chosen waiter is awake or on its way, and either begins its slice or gives it up; one that
//     can't run (stopped in a signal handler, say) is late after HF_LATE_NS, and then another one is chosen.
// uscl.U3  Chosen once. A waiter is in the queue until it is chosen or leaves; both are under the guard. After CHOSEN
//     is stored its node may be gone: a thread that wakes it uses the address only.
//     uscl.U1 to U3: nobody sleeps for ever, and no wake-up rests on a timeout but those at a slice's and a ban's end.
// uscl.U4  Shares and slices are immortal: memory that was one stays one. A thread that comes late, with a share that
//     has been given to another class meanwhile, counts its section wrongly, and does nothing worse.
// uscl.U5  A ban ends, since each of its ends is a time (lock/scl/share.h).
// uscl.U6  A timekeeper that can't run holds nobody up for ever: every waiter looks by itself now and then
//     (HF_RELIEF_NS).
// uscl.U7  What is not timed is bounded: section_timing.h.
// uscl.U8  No time to come rests on a clock that has gone back (a machine or a process goes on elsewhere, with a
//     smaller one): what was last changed later than now is over, and due, and debts count from now. Sleeps do not rest
//     on ticks, but on a clock that does not go back, so a thread that sleeps until then looks no later than it would
//     have.
// Modelled in verify/lock/uscl.pml.
#ifndef HF_LOCK_SCL_SLICES_H
#define HF_LOCK_SCL_SLICES_H

#include "lock/scl/slices_memory.h"
#include "park/futex.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a waiter is to be woken for, after the guard is given back: its node may be gone by then.
typedef const uint32_t *hf_slice_wake;

// All that follow are called under the guard, with the time of now.

// The caller's share, made when there is none yet. NULL: no memory.
struct hf_share *hf_slices_share_of(struct hf_slices *slices, struct hf_thread_record *self, uint64_t now);

// The caller comes to wait, then chooses if it is time (uscl.U1); it may be the chosen one itself.
hf_slice_wake hf_slices_join(struct hf_slices *slices, struct hf_slice_waiter *self, uint64_t now);

// The caller, which waits, leaves without having been chosen. Where the lock's memory is gone nobody is chosen any
// more, since a thread that comes to the word finds none.
hf_slice_wake hf_slices_leave(struct hf_slices *slices, struct hf_slice_waiter *self, uint64_t now);

// A program may unmap a lock that threads wait for, as long as the wait of each ends at its deadline and nobody wakes
// one. So a thread that is not inside, and has not just come, asks first. (Memory that goes between this and the look
// at it is not survived, nor between a sleep and the exchange after it under glibc.)
static inline bool hf_slices_lock_is_gone(const struct hf_slices *slices) {
    return slices->lock && !hf_futex_is_there(slices->lock);
}

// A waiter that was not chosen looks: the timekeeper when its time comes, others to relieve one that does not
// (uscl.U6).
hf_slice_wake hf_slices_look(struct hf_slices *slices, struct hf_slice_waiter *self, uint64_t now);

// The chosen class has the word: its slice begins (uscl.U2). Others of the class that wait are chosen with it and
// woken.
hf_slice_wake hf_slices_begin(struct hf_slices *slices, struct hf_share *share, uint64_t now, uint64_t slice_ticks);

// The class, which is one thread, exits or goes to wait for a condition. If the slice is its own it is over, and nobody
// is banned for its sake until it comes back.
hf_slice_wake hf_slices_retire(struct hf_slices *slices, struct hf_share *share, uint64_t now);

// The chosen class does not come after all (uscl.U2).
hf_slice_wake hf_slices_give_up(struct hf_slices *slices, struct hf_share *share, uint64_t now);

// Chooses the next waiter if the slice is over, or the chosen one late.
hf_slice_wake hf_slices_choose(struct hf_slices *slices, uint64_t now);

// How long a class stays in the sum of weights after it has used the lock, where its options say nothing.
enum { HF_INACTIVE_MS = 1000 };

// A chosen waiter that has not come after that time, with the word free, is late. Longer than a thread usually waits
// for a CPU, so that it is rare.
#define HF_LATE_NS 5000000ull

// How long after a timekeeper's time others look, if it does not; longer where many wait.
#define HF_RELIEF_NS 100000000ull

#ifdef __cplusplus
}
#endif

#endif
