// SPDX-License-Identifier: MIT OR Apache-2.0
// Condition variables: who waits, in which order, and who wakes whom. The mutex is the caller's (preload/cond.c).
//
//                                  taken by a signal or a broadcast
//     join() --> WAITING ------------------------------------------> CHOSEN --> its permit comes --> out
//                   |                                                   ^
//                   | deadline, cancellation: leave() --> GONE --> out  | leave() comes too late
//                   +---------------------------------------------------+
//
// The chooser also has to see to it that each of the chosen gets its permit; preload/cond.c does.
//
// The order is that of coming, but real-time threads (thread/realtime.h) are before others, by priority: chosen first,
// and first to have their permits.
//
// Meanwhile it sleeps on the permit's word. Before that it polls it for a moment, where that has been of use at this
// condition variable, or at another that shares its list's lock: to be woken takes longer than to do what most waiters
// wait for, on a CPU that has gone to sleep itself ten times as long. A thread that gives a permit to one that polls
// calls no kernel. It polls while the hint says that spinning pays, hence on a CPU that it has to itself.
//
// Invariants:
// condition.C1  A WAITING thread is in the list, and nobody else is; list and state change together, under the
//     list's lock.
// condition.C2  A CHOSEN waiter always gets its permit, once, and does not go before that: so a thread that gives it
//     the permit may still touch its node. Each has a word for it, which keeps a permit that comes early.
// condition.C3  No signal is lost. A waiter that was chosen by a signal but was cancelled chooses another one in its
//     place.
// condition.C4  Chosen is free. Once all waiters are chosen, or gone, the condition variable may be destroyed and its
//     memory freed: they do not touch it any more. So the store that makes the list empty is the last one, as it is
//     seen without the lock. And so the lists' locks lie apart, in a table, where a waiter can look whether it is still
//     WAITING; and each lock has a list of all that wait under it, where a cancelled one finds others to choose
//     (condition.C3).
// condition.C5  A moved waiter is a sleeper of the mutex. Where a crowd waits for what one of them will find, the owner
//     of the mutex does not wake the chosen: it moves their sleep from the permit's word to the mutex's, where each
//     unlock wakes one. So the word says HELD_WITH_SLEEPERS from then on, the waiter is counted there (sleep.S1,
//     park/sleeper_counts.h) until it has the mutex, and it takes it as that, however its sleep ended: the wake that it
//     may have had was one of the word's (word.I2, park/word_lock.h). So a thread that joins will take the mutex again.
// condition.C6  A condition variable that nobody waits for is zero, and one that is closed has no waiters: it is
//     closed, its list emptied, and a waiter refused, under its list's lock.
// condition.C7  A waiter that is thrown out of its wait, at whatever instruction, finds out how far it has come.
//     Whether it has its list's lock the lock says (owned.O1, park/owned_lock.h). It is WAITING before it is in a list,
//     and the links forward (`first`, `next`) are a list at each instruction of a join: one store puts the waiter in.
//     All the rest, `previous`, `last` and how many there are, is made anew from them. A thread that takes a waiter out
//     in its own wait does that with signals blocked: by the store that makes the list empty it gives the condition
//     variable's memory away (condition.C4), and could not look afterwards whether it has. (Thrown out of
//     pthread_cond_signal or pthread_cond_broadcast a thread leaves the list locked for ever, and with it the lists of
//     all condition variables that share the lock. No handler may leave these; one that leaves glibc's leaves the
//     condition variable's own lock.)
// condition.C8  Of several chosen that sleep, all are made runnable at once: a woken thread that gets its waker's CPU
//     does not keep the others from theirs until it gives that up. (Where it polled for what they were to do, that was
//     two fifths of the time.) So they are moved to one word, where nobody begins to sleep, and one call
//     wakes all that are there. Each has its permit before it is moved: one that does not sleep any more, and whatever
//     else sleeps at its address by now, is woken for nothing, and no permit is missed. Any chooser's call wakes those
//     that another has moved there, which have their permits as well.
// Modelled in verify/lock/condition.pml; the permit's word in permit.pml, closing in condition_close.pml, waits that
// are left in condition_left.pml.
#ifndef HF_LOCK_POSIX_CONDITION_H
#define HF_LOCK_POSIX_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "park/futex.h"

enum hf_waiter_state {
    HF_WAITER_GONE = 0, // or not yet one
    HF_WAITER_WAITING,
    HF_WAITER_CHOSEN,
};

enum { HF_WAITER_ALIGNMENT = 16 }; // leaves bits for the process's tag

// A waiter's address and a tag of its process, in one word; 0: none. So a forked child knows which of them are its
// parent's.
typedef uintptr_t hf_tagged_waiter;

struct hf_waiter_list {
    struct hf_waiter *first;
    hf_tagged_waiter last;
};

// The two lists that a waiter is in.
enum hf_waiter_list_kind {
    HF_WAITERS_OF_CONDITION,
    HF_WAITERS_OF_LOCK,
    HF_WAITER_LISTS,
};

// A permit comes once and stays, for one that comes too early or too late to be slept for.
enum hf_permit_state {
    HF_PERMIT_NONE = 0,
    HF_PERMIT_AWAITED_ASLEEP, // or about to sleep
    HF_PERMIT_GIVEN,
};

// One thread's wait; on its stack.
struct hf_waiter {
    struct {
        struct hf_waiter *next;
        struct hf_waiter *previous;
    } in[HF_WAITER_LISTS];
    struct hf_waiter *next_chosen; // for a thread that has chosen it
    struct hf_condition *condition;
    pthread_mutex_t *mutex; // that it waits with
    uint32_t priority;      // of a real-time thread when it came to wait; 0: an ordinary one
    uint32_t wait_number;   // under its list's lock, for lock/wait/spin_history.h
    bool may_poll;          // it has not come to too many others
    enum hf_waiter_state state;
    bool by_signal;      // CHOSEN by a signal, which goes to another one if this one is cancelled (condition.C3)
    bool moved;          // CHOSEN, and may have slept on the mutex's word since (condition.C5)
    bool is_cancellable; // at any instruction, and so before its type of cancellation was
    int cancel_type;     // this one, PTHREAD_CANCEL_DEFERRED as a rule
    uint32_t permit;     // enum hf_permit_state
} __attribute__((aligned(HF_WAITER_ALIGNMENT)));

// Zeroed memory has no waiters, and what has no waiters is zero: so glibc's functions may take it over
// (hf_conditions_close). Fits into what glibc leaves of a pthread_cond_t (preload/cond_layout.h).
struct hf_condition {
    struct hf_waiter_list waiters;
};

// One that has not joined yet: from here on hf_waiter_leave_cancelled finds it in order. Returns `waiter`.
struct hf_waiter *hf_waiter_begin(struct hf_waiter *waiter, struct hf_condition *condition, pthread_mutex_t *mutex);

// Makes the caller a waiter. Called with the mutex held; so a signal that comes after the mutex is given back finds it.
// False: the condition variable is closed.
bool hf_condition_join(struct hf_waiter *waiter);

// Waits for the permit. Returns 0 or ETIMEDOUT (deadline NULL: never), late by a poll at most. A cancellation point.
int hf_condition_sleep(struct hf_waiter *self, const struct hf_deadline *deadline);

// What a waiter does whose sleep has timed out, before it takes the mutex. True when it has left by itself; else it was
// chosen and has had its permit.
bool hf_waiter_leave(struct hf_waiter *self);

// The same after a sleep that was cancelled, or a wait that was left by siglongjmp, at whatever instruction, this
// function's own among them. What it was chosen for goes to another waiter (condition.C3).
void hf_waiter_leave_cancelled(struct hf_waiter *self);

// Looks without the lock. It sees a waiter that came before the caller had the mutex, or that it was told of.
static inline bool hf_condition_may_have_waiters(const struct hf_condition *condition) {
    return hf_load_acquire(&condition->waiters.first) !=
           NULL; // pairs with the release of the thread that was the last (condition.C4)
}

// Whether many of those that a broadcast wakes wait again without having used any lock in between: they wait for room
// in a queue, say, and there is room for one. A guess, by what waiters have done of late; it decides when permits are
// given, not whether.
enum { HF_IN_VAIN_MANY = 4 };
bool hf_condition_wakes_in_vain(const struct hf_condition *condition);

// Chooses one waiter, or all of them linked by `next_chosen`; NULL when nobody waits. The caller owes each its permit
// (condition.C2).
struct hf_waiter *hf_condition_choose_one(struct hf_condition *condition);
struct hf_waiter *hf_condition_choose_all(struct hf_condition *condition);

// Gives a chosen waiter its permit. Its node may be gone when this returns.
void hf_waiter_give_permit(struct hf_waiter *chosen);

// The same for several, linked by `next_chosen`; those that sleep are woken by one call of the kernel (condition.C8).
void hf_waiters_give_permits(struct hf_waiter *chosen);

// As hf_waiter_give_permit, and if the waiter sleeps it sleeps on, on the word of the mutex that it waits with
// (condition.C5). Requires that the caller owns that mutex, by its word.
void hf_waiter_move_to(uint32_t *word, struct hf_waiter *chosen);

// Leaves all condition variables of this process to other functions, those of glibc, for good: one after the other is
// closed. Its waiters are woken, as POSIX allows at any time: they look whether to wait again, and are refused. From
// then on it is zero, and the other functions' (condition.C6).
void hf_conditions_close(void);
bool hf_condition_is_closed(const struct hf_condition *condition);

// Permits that are still to be given, linked by `next_chosen`. In a forked child there are none.
typedef hf_tagged_waiter hf_permits_owed;
void hf_permits_owe(hf_permits_owed *permits, struct hf_waiter *chosen);
void hf_permits_give_all(hf_permits_owed permits);

#endif
