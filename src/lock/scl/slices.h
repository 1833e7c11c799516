// SPDX-License-Identifier: MIT OR Apache-2.0
// Slices: which class may come to a lock's word, and for how long. One object for each lock that was ever contended.
// Who is inside is decided by the word alone (I1, I2, park/word_lock.h): whoever errs about slices waits at the word.
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
// Waiters are in a queue and sleep until chosen. Who chooses is whoever sees that a slice is over: the thread that
// gives the lock back then, one that comes, or the *keeper*, a waiter that keeps the time. A slice is over before its
// time when its owner exits, or goes to wait for a condition, or sleeps for another lock that Holdfast knows (not one
// of glibc's, a barrier, or a lock with a gate): it can't or does not want to use the rest. (Sleeps: if somebody comes
// here then, or waits already; of those the owner knows, begun_slices.h.) Not so where several threads of the class
// have come to wait here: the others may use it. And it is over, for whoever looks while somebody waits, when its owner
// has used next to nothing of it and is not inside.
//
// Invariants, all under the guard:
// U1  Time is kept. While somebody waits and the slice is RUNNING, OVER or NOBODYS, there is a keeper. It looks first
//     whether the slice is used, then no later than at the slice's end or the ban's, whichever the state waits for. A
//     slice of no length needs none: it is over from the start, which its first section's unlock sees whatever its
//     CPU's clock. Nor does a PENDING one:
// U2  PENDING ends. The chosen waiter is awake or on its way, and either begins its slice or gives it up; one that
//     can't run (stopped in a signal handler, say) is late after HF_LATE_NS, and then another one is chosen.
// U3  Chosen once. A waiter is in the queue until it is chosen or leaves; both are under the guard. After CHOSEN is
//     stored its node may be gone: who wakes it uses the address only.
//     U1 to U3: nobody sleeps for ever, and no wake-up rests on a timeout but those at a slice's and a ban's end.
// U4  Shares and slices are immortal: memory that was one stays one. A thread that comes late, with a share that has
//     been given to another class meanwhile, counts its section wrongly, and does nothing worse.
// U5  A ban ends, since each of its ends is a time (lock/scl/share.h).
// U6  A keeper that can't run holds nobody up for ever: every waiter looks by itself now and then (HF_RELIEF_NS).
// U7  What is not timed is bounded: section_timing.h.
// U8  No time to come rests on a clock that has gone back (a machine or a process goes on elsewhere, with a smaller
//     one): what was last changed later than now is over, and due, and debts count from now. Sleeps do not rest on
//     ticks, but on a clock that does not go back, so who sleeps until then looks no later than it would have.
// Modelled in verify/lock/uscl.pml.
#ifndef HF_LOCK_SLICES_H
#define HF_LOCK_SLICES_H

#include <signal.h>

#include "lock/scl/section_timing.h"
#include "lock/scl/share.h"
#include "lock/wait/defer_policy.h"
#include "lock/wait/waiter_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bit 0 of a waiter's turn; each appointment as keeper adds HF_TURN_KEEPER, so that one that goes to sleep just then
// sees it.
enum { HF_TURN_CHOSEN = 1, HF_TURN_KEEPER = 2 };

// One thread's wait; on its stack.
struct hf_slice_waiter {
    struct hf_slice_waiter *next;
    struct hf_slice_waiter *previous;
    struct hf_share *share;
    uint32_t turn;
    bool never_banned;
};

struct hf_slices {
    // Read by whoever takes the lock, changed twice a slice.
    struct hf_share *owner;
    uint64_t slice_end; // ticks
    uint32_t waiters;
    uint32_t guard; // a lock word (park/word_lock.h)

    // Under the guard: as the lock's options said when somebody last came to wait.
    uint16_t work_conserving : 1;
    uint16_t inactive_ms : 15; // 0: HF_INACTIVE_MS

    // The holder's, under the lock's word. Of a section that is not counted there is neither of the two.
    hf_release_count releases;       // of the word
    uint16_t untimed;                // sections of the slice that are not timed before the next one is (U7)
    uint16_t stands_for;             // sections, for the one that is timed now; 0: only itself, it did not come fast
    struct hf_share *holder;         // of a section that is timed
    struct hf_share *untimed_holder; // of one that is not
    uint64_t section_began;          // ticks
    hf_queue_tail spinners;          // those that poll the word
    struct hf_section_timing timing;

    const uint32_t *lock;     // whose slices they are: its word; NULL: spare
    struct hf_slices *in_row; // in the table by address, or spare
    struct hf_slices *made_before;

    // Under the guard.
    struct hf_slice_waiter *first HF_CACHE_ALIGNED;
    struct hf_slice_waiter *last;
    struct hf_slice_waiter *keeper;
    uint64_t keeper_at;   // ticks: when the keeper looks
    uint64_t due_at;      // ticks: PENDING, NOBODYS
    uint64_t virtual_now; // virtual time of the last class that began a slice
    uint64_t taken_at; // ticks: when the last slice that had begun became somebody else's, or nobody's; no later (U8)
    struct hf_share *shares;
};

// What a waiter is to be woken for, after the guard is given back: its node may be gone by then.
typedef const uint32_t *hf_slice_wake;

// The slices of the lock at that address: made, or left by a lock that was there before, when there are none yet. NULL:
// no memory. `place` is where the lock keeps the answer.
struct hf_slices *hf_slices_of(const uint32_t *lock, struct hf_slices **place, struct hf_thread_record *self)
    __attribute__((cold));
// What the lock at that address had, if it still has it.
void hf_slices_give_back(struct hf_slices *slices, const uint32_t *lock, struct hf_thread_record *self);

// The guard. With signals blocked: a thread that a handler stops under it (to collect garbage, say) would stop
// everybody at a lock that is free. `saved`: for the unlock.
void hf_slices_lock(struct hf_slices *slices, struct hf_thread_record *self, sigset_t *saved);
void hf_slices_unlock(struct hf_slices *slices, struct hf_thread_record *self, const sigset_t *saved);

// Is the caller a signal handler that has interrupted its own thread at a guard or in a queue? Then it could wait
// for itself, and others for it: it has to go to the word without slices.
static inline bool hf_slices_are_closed_to(const struct hf_thread_record *self) {
    return self->in_slices != 0;
}

static inline void hf_slices_enter(struct hf_thread_record *self) {
    hf_store_relaxed(&self->in_slices, (uint16_t)(self->in_slices + 1)); // others look: owner_is_elsewhere
    hf_program_order();
}

// Saturates: a child forked by such a handler has another record, and comes back to where its parent was.
static inline void hf_slices_exit(struct hf_thread_record *self) {
    hf_program_order();
    hf_store_relaxed(&self->in_slices, (uint16_t)(self->in_slices - (self->in_slices != 0)));
}

// All that follow are called under the guard, with the time of now.

// The caller's share, made when there is none yet. NULL: no memory.
struct hf_share *hf_slices_share_of(struct hf_slices *slices, struct hf_thread_record *self, uint64_t now);

// The caller comes to wait, then chooses if it is time (U1); it may be the chosen one itself.
hf_slice_wake hf_slices_join(struct hf_slices *slices, struct hf_slice_waiter *self, uint64_t now);

// The caller, who waits, leaves without having been chosen.
hf_slice_wake hf_slices_leave(struct hf_slices *slices, struct hf_slice_waiter *self, uint64_t now);

// A waiter that was not chosen looks: the keeper when its time comes, others to relieve one that does not (U6).
hf_slice_wake hf_slices_look(struct hf_slices *slices, struct hf_slice_waiter *self, uint64_t now);

// The chosen class has the word: its slice begins (U2). Others of the class that wait are chosen with it and woken.
hf_slice_wake hf_slices_begin(struct hf_slices *slices, struct hf_share *share, uint64_t now, uint64_t slice_ticks);

// The class, which is one thread, exits or goes to wait for a condition. If the slice is its own it is over, and nobody
// is banned for its sake until it comes back.
hf_slice_wake hf_slices_retire(struct hf_slices *slices, struct hf_share *share, uint64_t now);

// The chosen class does not come after all (U2).
hf_slice_wake hf_slices_give_up(struct hf_slices *slices, struct hf_share *share, uint64_t now);

// Chooses who is next if the slice is over, or the chosen one late.
hf_slice_wake hf_slices_choose(struct hf_slices *slices, uint64_t now);

// How long a class stays in the sum of weights after it has used the lock, where its options say nothing.
enum { HF_INACTIVE_MS = 1000 };

// A chosen waiter that has not come after that time, with the word free, is late. Longer than a thread usually waits
// for a CPU, so that it is rare.
#define HF_LATE_NS 5000000ull

// How long after a keeper's time others look, if it does not; longer where many wait.
#define HF_RELIEF_NS 100000000ull

#ifdef __cplusplus
}
#endif

#endif
