// SPDX-License-Identifier: MIT OR Apache-2.0
// States and invariants: condition.h.
#include "lock/posix/condition.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>

#include "base/address_hash.h"
#include "base/check.h"
#include "base/cpu_count.h"
#include "lock/posix/waiter_places.h"
#include "lock/wait/spin_budget.h"
#include "lock/wait/spin_history.h"
#include "park/fork_guard.h"
#include "park/masked_lock.h"
#include "park/owned_lock.h"
#include "thread/left_wait.h"
#include "thread/realtime.h"
#include "thread/thread_number.h"

_Static_assert(offsetof(struct hf_waiter, permit) == offsetof(struct hf_waiter, condition) + HF_CONDITION_BEFORE_PERMIT,
               "it is found there");

// The locks of the lists. Two condition variables that share one wait for each other: for some instructions, or as long
// as a thread is suspended in there by a signal handler (to collect garbage, say). So there are many; blocking signals
// instead costs two system calls at each end of a wait: with 16 threads that wait, a sixth of their speed.
enum { HF_LIST_LOCK_BITS = 12 };
struct list_lock {
    uint32_t word;    // park/owned_lock.h
    uint32_t waits;   // that have begun under it
    uint32_t waiting; // its waiters
    uint32_t in_vain; // of late, for each broadcast's wake that was of use, so many were not
    struct hf_waiter_list waiters;
    struct hf_spin_history spin_rounds;
    uint32_t together; // nobody reads it: the chosen that sleep are gathered here, and woken (condition.C8)
} HF_CACHE_ALIGNED;
// What is learnt of condition variables lies here, and so is that of all that share the lock: a chosen waiter may not
// touch its own (condition.C4), and one without waiters is zero (condition.C6).

// In pages of its own that the kernel zeroes in a forked child, if it can: then no lock is held there from the first
// instruction on, also in handlers that the program has registered before us (pthread_atfork).
static struct list_lock locks[1 << HF_LIST_LOCK_BITS] HF_FORK_PAGES;
_Static_assert(sizeof(locks) % HF_FORK_PAGE_BYTES == 0, "nothing else is zeroed");

static uint32_t fork_depth;
static uint32_t process_tag; // 0: not known yet

// Which lists are closed, each under its lock (condition.C6). A forked child's are as its parent's were.
static bool closing, closed[1 << HF_LIST_LOCK_BITS];

static bool is_closed(const struct list_lock *lock) {
    return HF_UNLIKELY(hf_load_relaxed(&closing)) && closed[lock - locks];
}

// No other thread holds a list, and none of the parent's waiters is there.
static void start_over(void);
static struct hf_fork_guard guard = HF_FORK_GUARD(start_over);

static void start_over(void) {
    if (!guard.is_zeroed)
        for (int i = 0; i < 1 << HF_LIST_LOCK_BITS; i++)
            locks[i] = (struct list_lock){.word = HF_OWNED_FREE};
    fork_depth++;
    hf_store_relaxed(&process_tag, 0);
}

// Which process: how many forks it is away from the first one, and the number of its first thread to come here, of
// which as many bits as there is room for. Its ancestors' lists, which it has copies of, are not its own; nor are those
// of a sibling, in memory that both share and have made process-private objects in, an error that glibc lets pass. (The
// same tag have an ancestor of 64 forks ago, and a sibling, if its number is also the same modulo 16,384.)
enum { HF_TAG_DEPTH_BITS = 6, HF_TAG_NUMBER_BITS = 14, HF_TAG_IS_KNOWN = 1 << 30 };

static __attribute__((noinline, cold)) uint32_t make_process_tag(void) {
    uint32_t number = hf_tid_asked() % (1u << HF_TAG_NUMBER_BITS);
    uint32_t tag = HF_TAG_IS_KNOWN | number << HF_TAG_DEPTH_BITS | fork_depth % (1u << HF_TAG_DEPTH_BITS);
    hf_cas_relaxed(&process_tag, 0u, tag); // of threads that come here together the first one's
    return hf_load_relaxed(&process_tag);
}

static inline uint32_t current_process(void) {
    hf_fork_guard_repair_if_forked(&guard);
    uint32_t tag = hf_load_relaxed(&process_tag);
    return (HF_LIKELY(tag != 0) ? tag : make_process_tag()) & ~(uint32_t)HF_TAG_IS_KNOWN;
}

// The bits of a word that no address of a waiter has: those of its alignment, and those above what a process is given
// without asking for more (47 bits on x86-64, 48 on arm64).
#define HF_TAG_BITS_ABOVE 48
#define HF_TAG_MASK ((uintptr_t)-1 << HF_TAG_BITS_ABOVE | (HF_WAITER_ALIGNMENT - 1))
_Static_assert(sizeof(uintptr_t) == 8, "addresses leave bits for tags");
_Static_assert(HF_WAITER_ALIGNMENT << (64 - HF_TAG_BITS_ABOVE) == 1 << (HF_TAG_DEPTH_BITS + HF_TAG_NUMBER_BITS),
               "a tag fits");

static hf_tagged_waiter tag_of_process(void) {
    uintptr_t process = current_process();
    return (process / HF_WAITER_ALIGNMENT) << HF_TAG_BITS_ABOVE | process % HF_WAITER_ALIGNMENT;
}

static bool is_of_process(hf_tagged_waiter tagged) {
    return (tagged & HF_TAG_MASK) == tag_of_process();
}

static hf_tagged_waiter with_tag(struct hf_waiter *waiter) {
    return waiter ? (uintptr_t)waiter | tag_of_process() : 0;
}

static struct hf_waiter *without_tag(hf_tagged_waiter tagged) {
    return (struct hf_waiter *)(tagged & ~HF_TAG_MASK); // NOLINT(performance-no-int-to-ptr)
}

static struct list_lock *list_lock_of(const struct hf_condition *condition) {
    return &locks[hf_address_hash((uintptr_t)condition, HF_LIST_LOCK_BITS)];
}

static struct list_lock *acquire_list(struct list_lock *lock) {
    current_process(); // before anything is taken that a child would forget
    struct hf_thread_record *self = hf_self();
    hf_critical_enter(self);
    if (!hf_owned_trylock(&lock->word, hf_tid(self)))
        hf_owned_lock_or_leave(&lock->word, self, self->critical.critical_depth - 1);
    return lock;
}

static struct list_lock *acquire_list_of(const struct hf_condition *condition) {
    return acquire_list(list_lock_of(condition));
}

static void release_list(struct list_lock *lock) {
    hf_owned_unlock(&lock->word);
    hf_critical_leave(hf_self());
}

// Whom it goes before: all of lower priority; of one priority the first comers are first. NULL: nobody.
static struct hf_waiter *next_of(const struct hf_waiter_list *list, uint32_t priority, enum hf_waiter_list_kind kind) {
    if (HF_LIKELY(priority == 0))
        return NULL;
    struct hf_waiter *other = list->first;
    while (other && other->priority >= priority)
        other = other->in[kind].next;
    return other;
}

static void insert(struct hf_waiter_list *list, struct hf_waiter *waiter, enum hf_waiter_list_kind kind) {
    struct hf_waiter *next = next_of(list, waiter->priority, kind);
    struct hf_waiter *previous = next ? next->in[kind].previous : without_tag(list->last);
    waiter->in[kind].next = next;
    waiter->in[kind].previous = previous;
    hf_program_order();                                                           // condition.C7
    hf_store_relaxed(previous ? &previous->in[kind].next : &list->first, waiter); // see hf_condition_may_have_waiters
    hf_program_order();
    if (next)
        next->in[kind].previous = waiter;
    else
        list->last = with_tag(waiter);
}

static void take_out(struct hf_waiter_list *list, struct hf_waiter *waiter, enum hf_waiter_list_kind kind) {
    struct hf_waiter *next = waiter->in[kind].next, *previous = waiter->in[kind].previous;
    if (next)
        next->in[kind].previous = previous;
    else
        list->last = with_tag(previous);
    // The last touch (condition.C4): a thread that sees without the lock that nobody waits may free the condition
    // variable at once. Release: pairs with the acquire in hf_condition_may_have_waiters.
    hf_store_release(previous ? &previous->in[kind].next : &list->first, next);
}

// In a forked child the first one to come forgets the waiters, which are the parent's. (It may have forked between the
// two stores of another of its threads that make a list begin or end: then there is a first one and no last.)
static void forget_waiters_of_parent(struct hf_condition *condition) {
    struct hf_waiter_list *list = &condition->waiters;
    bool is_own = list->last ? is_of_process(list->last) : !list->first;
    if (HF_UNLIKELY(!is_own))
        *list = (struct hf_waiter_list){0};
}

static void stop_waiting(struct list_lock *lock, struct hf_waiter *waiter, enum hf_waiter_state then) {
    HF_CHECK("condition.C1", waiter->state == HF_WAITER_WAITING);
    take_out(&waiter->condition->waiters, waiter, HF_WAITERS_OF_CONDITION);
    take_out(&lock->waiters, waiter, HF_WAITERS_OF_LOCK);
    lock->waiting--;
    waiter->state = then;
}

// The caller's last wake by a broadcast, and how many locks it had taken before it took the mutex again.
static __thread struct {
    const struct hf_condition *condition;
    uint64_t acquisitions;
} last_wake __attribute__((tls_model("initial-exec")));

static void note_wake(const struct hf_waiter *self) {
    if (self->by_signal)
        return;
    last_wake.condition = self->condition;
    last_wake.acquisitions = hf_counters(hf_self())->acquisitions;
}

// Adds the caller's last wake to what is known of them. In a crowd of which one finds what it waits for the number
// comes to lie between the others' and twice that.
static void note_use_of_last_wake(struct list_lock *lock, const struct hf_condition *condition) {
    enum { MOST = 64 };
    if (last_wake.condition != condition)
        return;
    last_wake.condition = NULL;
    bool in_vain = hf_counters(hf_self())->acquisitions - last_wake.acquisitions <= 1; // the mutex
    uint32_t before = lock->in_vain;
    hf_store_relaxed(&lock->in_vain, in_vain ? before + (before < MOST) : before / 2);
}

bool hf_condition_wakes_in_vain(const struct hf_condition *condition) {
    return hf_load_relaxed(&list_lock_of(condition)->in_vain) >= HF_IN_VAIN_MANY;
}

// With more waiters than CPUs one that polls is in the way of the others, or of a thread that is to wake them. With as
// many there are two that poll and one that signals on two CPUs, which was found to be worth it
// (docs/interposer-figures.md). On one CPU nobody else can run.
static bool may_poll(uint32_t waiting, unsigned cpus) {
    return cpus > 1 && waiting <= cpus;
}

struct hf_waiter *hf_waiter_begin(struct hf_waiter *waiter, struct hf_condition *condition, pthread_mutex_t *mutex) {
    *waiter = (struct hf_waiter){.condition = condition, .mutex = mutex, .priority = hf_realtime_priority()};
    return waiter;
}

bool hf_condition_join(struct hf_waiter *waiter) {
    struct hf_condition *condition = waiter->condition;
    unsigned cpus = hf_cpus_usable(); // which may ask the kernel: not while others wait for the list
    struct list_lock *lock = acquire_list_of(condition);
    forget_waiters_of_parent(condition);
    bool joins = HF_LIKELY(!is_closed(lock));
    if (joins) {
        note_use_of_last_wake(lock, condition);
        waiter->state = HF_WAITER_WAITING;
        hf_program_order(); // condition.C7
        insert(&condition->waiters, waiter, HF_WAITERS_OF_CONDITION);
        insert(&lock->waiters, waiter, HF_WAITERS_OF_LOCK);
        waiter->wait_number = lock->waits++;
        waiter->may_poll = may_poll(++lock->waiting, cpus);
    }
    release_list(lock);
    return joins;
}

// Whether the permit has come. (Which waits poll: spin_history.h. Polls of several waits at once end in any order; one
// in vain makes the others' numbers those of waits that are left out, so it alone is heard.)
static bool poll_for_permit(struct hf_waiter *self) {
    struct hf_spin_history *rounds = &list_lock_of(self->condition)->spin_rounds;
    if (!self->may_poll || !hf_spin_history_may_spin(rounds, self->wait_number))
        return false;
    struct hf_spin_budget budget = {.polls_left = HF_CONDITION_SPIN_BUDGET_POLLS};
    bool has_permit;
    do
        has_permit = hf_load_acquire(&self->permit) == HF_PERMIT_GIVEN;
    while (!has_permit && hf_spin_budget_left(&budget));
    if (has_permit)
        hf_spin_history_was_good(rounds, self->wait_number);
    else if (budget.polls_left < HF_CONDITION_SPIN_BUDGET_POLLS - 1) // not if the hint did not let it
        hf_spin_history_was_vain(rounds, self->wait_number);
    return has_permit;
}

// Acquire: pairs with the release of the thread that gives the permit.
static int sleep_until_permit(struct hf_waiter *self, const struct hf_deadline *deadline) {
    hf_cas_relaxed(&self->permit, HF_PERMIT_NONE, HF_PERMIT_AWAITED_ASLEEP);
    while (hf_load_acquire(&self->permit) != HF_PERMIT_GIVEN) {
        if (hf_futex_wait(&self->permit, HF_PERMIT_AWAITED_ASLEEP, deadline) == ETIMEDOUT)
            return ETIMEDOUT;
    }
    return 0;
}

// The C library's own sleeps are cancellation points in this way, too: while it sleeps, a thread may be cancelled at
// any instruction. It unwinds from there, so there must be a frame. A permit that has come by then stays where it is.
static __attribute__((noinline)) int sleep_cancellably(struct hf_waiter *self, const struct hf_deadline *deadline) {
    self->is_cancellable = true;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &self->cancel_type);
    int error = sleep_until_permit(self, deadline);
    pthread_setcanceltype(self->cancel_type, NULL);
    self->is_cancellable = false;
    return error;
}

static int await_permit(struct hf_waiter *self, const struct hf_deadline *deadline,
                        int (*sleep)(struct hf_waiter *, const struct hf_deadline *)) {
    int error = 0;
    if (!poll_for_permit(self)) {
        hf_hint_look_again();
        hf_thread_falls_asleep(hf_self());
        error = sleep(self, deadline);
        hf_thread_awakes(hf_self());
    }
    if (!error) {
        self->state = HF_WAITER_GONE; // nobody else looks any more, but a thread that is thrown out now
        note_wake(self);
    }
    return error;
}

int hf_condition_sleep(struct hf_waiter *self, const struct hf_deadline *deadline) {
    pthread_testcancel(); // a wait that ends with a poll meets no other cancellation point
    return await_permit(self, deadline, sleep_cancellably);
}

// condition.C2: a waiter that was chosen awaits its permit, which is no cancellation point. Short, or as long as the
// thread that has chosen it keeps the mutex, which this one takes next. (With a mutex that refuses it nobody waits for
// whose release permits are kept: refuses_wait in preload/cond.c.) The list is waited for with no signals blocked: its
// owner may be suspended by a handler until this thread, too, has run one.
bool hf_waiter_leave(struct hf_waiter *self) {
    struct list_lock *lock = acquire_list_of(self->condition);
    bool waiting = self->state == HF_WAITER_WAITING;
    if (waiting) {
        sigset_t saved;
        hf_block_all_signals(&saved); // condition.C7
        stop_waiting(lock, self, HF_WAITER_GONE);
        release_list(lock);
        hf_unblock_signals(&saved);
        return true;
    }
    release_list(lock);
    await_permit(self, NULL, sleep_until_permit);
    return false;
}

static struct hf_waiter *choose_for_signal(struct list_lock *lock, struct hf_waiter *waiter) {
    if (waiter) {
        stop_waiting(lock, waiter, HF_WAITER_CHOSEN);
        waiter->by_signal = true;
    }
    return waiter;
}

// The signal goes to the one that is first. Does not touch the condition variable unless somebody waits (condition.C4).
static void hand_signal_on(struct hf_waiter *self) {
    struct list_lock *lock = acquire_list_of(self->condition);
    sigset_t saved;
    hf_block_all_signals(&saved); // condition.C7, and the other one's permit
    struct hf_waiter *other = lock->waiters.first;
    while (other && other->condition != self->condition)
        other = other->in[HF_WAITERS_OF_LOCK].next;
    choose_for_signal(lock, other);
    self->by_signal = false;
    release_list(lock);
    if (other)
        hf_waiter_give_permit(other);
    hf_unblock_signals(&saved);
}

// Takes the waiter out of a list that it was about to join, wherever in that it was interrupted: a thread that is in
// the list is found from its start. Returns how many are left.
static uint32_t mend(struct hf_waiter_list *list, const struct hf_waiter *gone, enum hf_waiter_list_kind kind) {
    struct hf_waiter *last = NULL;
    uint32_t left = 0;
    for (struct hf_waiter *waiter = list->first, *next; waiter; waiter = next) {
        next = waiter->in[kind].next;
        if (waiter == gone) {
            hf_store_release(last ? &last->in[kind].next : &list->first, next); // condition.C4, as in take_out
            continue;
        }
        waiter->in[kind].previous = last;
        last = waiter;
        left++;
    }
    list->last = with_tag(last);
    return left;
}

// Of a waiter that has its list's lock and does not come back to where it was. If it is WAITING it was about to join,
// or about to leave and has not begun, so the condition variable is there (condition.C7).
static void leave_list(struct list_lock *lock, struct hf_waiter *self) {
    sigset_t saved;
    hf_block_all_signals(&saved);
    if (self->state == HF_WAITER_WAITING) {
        lock->waiting = mend(&lock->waiters, self, HF_WAITERS_OF_LOCK);
        mend(&self->condition->waiters, self, HF_WAITERS_OF_CONDITION);
        self->state = HF_WAITER_GONE;
    }
    hf_owned_unlock(&lock->word);
    hf_unblock_signals(&saved);
}

void hf_waiter_leave_cancelled(struct hf_waiter *self) {
    struct list_lock *lock = list_lock_of(self->condition);
    hf_thread_awakes(hf_self()); // if it slept, its sleep did not return
    if (self->is_cancellable)
        pthread_setcanceltype(self->cancel_type, NULL);
    self->is_cancellable = false;
    if (hf_owned_is_by(&lock->word, hf_tid(hf_self())))
        leave_list(lock, self);
    hf_futex_wake(&lock->word, 1); // owned.O2
    if (self->state != HF_WAITER_GONE)
        hf_waiter_leave(self);
    if (self->by_signal)
        hand_signal_on(self);
}

struct hf_waiter *hf_condition_choose_one(struct hf_condition *condition) {
    struct list_lock *lock = acquire_list_of(condition);
    forget_waiters_of_parent(condition);
    struct hf_waiter *chosen = choose_for_signal(lock, condition->waiters.first);
    release_list(lock);
    return chosen;
}

struct hf_waiter *hf_condition_choose_all(struct hf_condition *condition) {
    struct list_lock *lock = acquire_list_of(condition);
    forget_waiters_of_parent(condition);
    struct hf_waiter *first = condition->waiters.first;
    for (struct hf_waiter *waiter = first, *next; waiter; waiter = next) {
        next = waiter->in[HF_WAITERS_OF_CONDITION].next;
        stop_waiting(lock, waiter, HF_WAITER_CHOSEN);
        waiter->next_chosen = next;
    }
    release_list(lock);
    return first;
}

bool hf_condition_is_closed(const struct hf_condition *condition) {
    struct list_lock *lock = acquire_list_of(condition);
    bool result = is_closed(lock);
    release_list(lock);
    return result;
}

// Chooses all that wait under a lock, for whatever condition variable.
static struct hf_waiter *choose_all_under(struct list_lock *lock) {
    struct hf_waiter *first = lock->waiters.first;
    for (struct hf_waiter *waiter = first, *next; waiter; waiter = next) {
        next = waiter->in[HF_WAITERS_OF_LOCK].next;
        stop_waiting(lock, waiter, HF_WAITER_CHOSEN);
        waiter->next_chosen = next;
    }
    return first;
}

void hf_conditions_close(void) {
    hf_store_relaxed(&closing, true);
    for (int i = 0; i < 1 << HF_LIST_LOCK_BITS; i++) {
        struct list_lock *lock = acquire_list(&locks[i]);
        closed[i] = true;
        struct hf_waiter *chosen = choose_all_under(lock);
        HF_CHECK("condition.C6", !lock->waiters.first && lock->waiters.last == 0);
        release_list(lock);
        hf_waiters_give_permits(chosen);
    }
}

// Whether it sleeps until somebody wakes it. The last touch: then its node may be gone, and a wake uses the address
// alone.
static bool give_permit(struct hf_waiter *chosen) {
    HF_CHECK("condition.C2", chosen->state == HF_WAITER_CHOSEN);
    return hf_exchange_release(&chosen->permit, HF_PERMIT_GIVEN) == HF_PERMIT_AWAITED_ASLEEP;
}

void hf_waiter_give_permit(struct hf_waiter *chosen) {
    const uint32_t *permit = &chosen->permit;
    if (give_permit(chosen))
        hf_futex_wake(permit, 1);
    hf_cpus_usable(); // the caller's are the process's, too, though it may never wait
}

// If the waiter does not sleep yet, or the kernel refuses, nobody is moved, and the permit wakes it as ever. Until the
// permit it can't go (condition.C2): no other sleep is met there.
void hf_waiter_move_to(uint32_t *word, struct hf_waiter *chosen) {
    HF_CHECK("condition.C2", chosen->state == HF_WAITER_CHOSEN);
    chosen->moved = true;   // published by the permit
    hf_sleeper_comes(word); // on its behalf; it goes when it has the mutex (condition.C5)
    // Relaxed: the word is the caller's. An exchange, since others announce their sleeps on it meanwhile.
    uint32_t was __attribute__((unused)) = hf_exchange_relaxed(word, HF_WORD_HELD_WITH_SLEEPERS);
    HF_CHECK("word.I1", was != HF_WORD_FREE);
    hf_futex_move(&chosen->permit, word);
    hf_waiter_give_permit(chosen);
}

// NULL: there are none, or they are another process's.
static struct hf_waiter *first_owed(hf_permits_owed permits) {
    return is_of_process(permits) ? without_tag(permits) : NULL;
}

// Real-time threads have theirs first, in order; behind them it is for the mutex to say.
static bool has_permit_before(const struct hf_waiter *other, const struct hf_waiter *chosen) {
    return other->priority != 0 && other->priority >= chosen->priority;
}

void hf_permits_owe(hf_permits_owed *permits, struct hf_waiter *chosen) {
    struct hf_waiter *before = NULL, *after = first_owed(*permits);
    while (after && has_permit_before(after, chosen)) {
        before = after;
        after = after->next_chosen;
    }
    chosen->next_chosen = after;
    if (before)
        before->next_chosen = chosen;
    else
        *permits = with_tag(chosen);
}

// Of a chosen one that has its permit: its node may be gone, and the address is all that is used (condition.C8). One
// that can't be moved is woken by itself.
static void gather(const uint32_t *permit, const uint32_t *together) {
    if (!hf_futex_move(permit, together))
        hf_futex_wake(permit, 1);
}

void hf_waiters_give_permits(struct hf_waiter *chosen) {
    const uint32_t *together = chosen ? &list_lock_of(chosen->condition)->together : NULL, *first = NULL;
    int asleep = 0;
    for (struct hf_waiter *next; chosen; chosen = next) {
        const uint32_t *permit = &chosen->permit;
        next = chosen->next_chosen;
        if (!give_permit(chosen))
            continue;
        if (asleep++ == 0) {
            first = permit;
            continue;
        }
        if (asleep == 2)
            gather(first, together);
        gather(permit, together);
    }
    if (asleep == 1)
        hf_futex_wake(first, 1);
    else if (asleep > 1)
        hf_futex_wake(together, INT_MAX);
    hf_cpus_usable(); // as in hf_waiter_give_permit
}

void hf_permits_give_all(hf_permits_owed permits) {
    hf_waiters_give_permits(first_owed(permits));
}

__attribute__((constructor)) static void watch_forks(void) {
    hf_fork_guard_watch(&guard, locks, sizeof(locks));
}
