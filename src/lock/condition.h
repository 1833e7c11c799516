// SPDX-License-Identifier: MIT OR Apache-2.0
// Condition variables: who waits, in which order, and who wakes whom. The mutex is the caller's (preload/cond.c).
//
//                                  taken by a signal or a broadcast
//     join() --> WAITING ------------------------------------------> CHOSEN --> sleeps until its turn --> out
//                   |                                                   ^
//                   | deadline, cancellation: leave() --> GONE --> out  | leave() comes too late
//                   +---------------------------------------------------+
//
// A broadcast chooses everybody and gives the turn to as many as can run at once; each of those gives it to the next
// one when it has the mutex. So nobody wakes up only to sleep again on the mutex, and no waiter is left out.
//
// Invariants:
// C1  Who waits is in the list, who is in the list is WAITING; list and state change together, under the list's lock.
// C2  A CHOSEN waiter always gets its turn, once, and does not go before that: so whoever gives it the turn may still
//     touch its node. Each has a semaphore for it, which keeps a turn that comes early.
// C3  No signal is lost. A waiter that was chosen by a signal but was cancelled chooses another one in its place.
// C4  Chosen is free. Once a waiter is chosen the condition variable may be destroyed and its memory freed: chosen ones
//     do not touch it any more, but for those of C3, whom hf_condition_destroy waits for. For the same reason the
//     lists' locks lie apart, in a table: whoever has to look whether it is still WAITING can do so.
// Modelled in verify/condition.pml.
#ifndef HF_LOCK_CONDITION_H
#define HF_LOCK_CONDITION_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "park/futex.h"

enum hf_waiter_state {
    HF_WAITER_WAITING,
    HF_WAITER_CHOSEN,
    HF_WAITER_GONE,
};

// One thread's wait; on its stack.
struct hf_waiter {
    struct hf_waiter *next; // in the list; when CHOSEN, whom to give the turn to
    struct hf_waiter *previous;
    enum hf_waiter_state state;
    bool by_signal; // CHOSEN by a signal, which is owed to another one if this one is cancelled (C3)
    sem_t turn;
};

// Zeroed memory has no waiters. Fits into what glibc leaves of a pthread_cond_t (preload/cond_layout.h).
struct hf_condition {
    struct hf_waiter *first;
    struct hf_waiter *last;
    uint32_t fork_depth; // of the process that made the list: a forked child has none of its parent's waiters
    uint32_t in_debt;    // waiters chosen by a signal that may still have to choose another one (C3)
};

// Makes the caller a waiter. Called with the mutex held; so a signal that comes after the mutex is given back finds it.
void hf_condition_join(struct hf_condition *condition, struct hf_waiter *self);

// Waits for the turn. Returns 0 or ETIMEDOUT (deadline NULL: never). A cancellation point.
int hf_condition_sleep(struct hf_waiter *self, const struct hf_deadline *deadline);

// What a waiter has to do whose sleep has ended, before it takes the mutex. After a sleep that returned 0:
void hf_condition_accept(struct hf_condition *condition, struct hf_waiter *self);
// After one that timed out. True when the waiter has left by itself; else it was chosen and has had its turn.
bool hf_condition_leave(struct hf_condition *condition, struct hf_waiter *self);
// After one that was cancelled.
void hf_condition_leave_cancelled(struct hf_condition *condition, struct hf_waiter *self);

// And after it has taken the mutex: gives the turn to the next one, if the waiter is to.
void hf_condition_pass_turn(struct hf_waiter *self);

// Wakes one waiter, or all.
void hf_condition_signal(struct hf_condition *condition);
void hf_condition_broadcast(struct hf_condition *condition);

// Waits until nobody touches it any more (C4). Requires that nobody waits.
void hf_condition_destroy(struct hf_condition *condition);

#endif
