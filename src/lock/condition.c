// SPDX-License-Identifier: MIT OR Apache-2.0
// States and invariants: condition.h.
#include "lock/condition.h"

#include <errno.h>
#include <pthread.h>

#include "base/check.h"
#include "park/nap.h"
#include "park/word_lock.h"
#include "thread/thread_record.h"

enum { HF_DEBT_NAP_NS = 50 * 1000 };

// The locks of the lists. Two condition variables that share one only wait for each other for some instructions.
enum { HF_LIST_LOCKS = 256 };
static struct {
    uint32_t word;
} HF_CACHE_ALIGNED list_locks[HF_LIST_LOCKS];

static uint32_t fork_depth;

static uint32_t *list_lock_of(const struct hf_condition *condition) {
    // The product's upper bits depend on all of the address (Knuth, The Art of Computer Programming 6.4).
    uint64_t mixed = (uint64_t)(uintptr_t)condition * 0x9e3779b97f4a7c15u;
    return &list_locks[mixed >> 56].word;
}

static void list_lock(uint32_t *word, struct hf_thread_record *self) {
    hf_critical_enter(self);
    if (!hf_word_trylock(word, HF_WORD_HELD))
        hf_word_lock_blocking(word, NULL);
}

static void list_unlock(uint32_t *word, struct hf_thread_record *self) {
    hf_word_unlock(word);
    hf_critical_leave(self);
}

// Called with the list's lock held, before anything else is done to the list.
static void forget_waiters_of_parent(struct hf_condition *condition) {
    if (HF_LIKELY(condition->fork_depth == fork_depth))
        return;
    condition->first = condition->last = NULL;
    condition->fork_depth = fork_depth;
    hf_store_relaxed(&condition->in_debt, 0);
}

static void unlink_waiter(struct hf_condition *condition, struct hf_waiter *waiter) {
    HF_CHECK("C1", waiter->state == HF_WAITER_WAITING);
    hf_store_relaxed(waiter->previous ? &waiter->previous->next : &condition->first, waiter->next);
    *(waiter->next ? &waiter->next->previous : &condition->last) = waiter->previous;
    waiter->next = NULL;
}

void hf_condition_join(struct hf_condition *condition, struct hf_waiter *waiter, pthread_mutex_t *mutex) {
    struct hf_thread_record *self = hf_self();
    uint32_t *lock = list_lock_of(condition);
    sem_init(&waiter->turn, 0, 0);
    waiter->next = waiter->successor = NULL;
    waiter->mutex = mutex;
    waiter->state = HF_WAITER_WAITING;
    waiter->by_signal = false;
    list_lock(lock, self);
    forget_waiters_of_parent(condition);
    waiter->previous = condition->last;
    hf_store_relaxed(condition->last ? &condition->last->next : &condition->first, waiter);
    condition->last = waiter;
    list_unlock(lock, self);
}

int hf_condition_sleep(struct hf_waiter *self, const struct hf_deadline *deadline) {
    for (;;) {
        int failed = deadline ? sem_clockwait(&self->turn, deadline->clock, &deadline->at) : sem_wait(&self->turn);
        if (!failed)
            return 0;
        if (errno == ETIMEDOUT)
            return ETIMEDOUT;
    }
}

// C2. Short, or as long as those before it need for the mutex, which this one needs too.
static void await_turn(struct hf_waiter *self) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    hf_condition_sleep(self, NULL);
    pthread_setcancelstate(before, NULL);
}

static void settle_debt(struct hf_condition *condition) {
    // Release: pairs with the acquire in hf_condition_destroy. The last touch (C4).
    hf_fetch_sub_release(&condition->in_debt, 1);
}

void hf_condition_accept(struct hf_condition *condition, struct hf_waiter *self) {
    if (self->by_signal)
        settle_debt(condition);
}

// False, with its turn had, when it was chosen before.
static bool leave_list(struct hf_condition *condition, struct hf_waiter *waiter) {
    struct hf_thread_record *self = hf_self();
    uint32_t *lock = list_lock_of(condition);
    list_lock(lock, self);
    bool waiting = waiter->state == HF_WAITER_WAITING;
    if (waiting) {
        unlink_waiter(condition, waiter);
        waiter->state = HF_WAITER_GONE;
    }
    list_unlock(lock, self);
    if (!waiting)
        await_turn(waiter);
    return waiting;
}

bool hf_condition_leave(struct hf_condition *condition, struct hf_waiter *self) {
    if (leave_list(condition, self))
        return true;
    hf_condition_accept(condition, self);
    return false;
}

void hf_condition_leave_cancelled(struct hf_condition *condition, struct hf_waiter *self) {
    if (leave_list(condition, self) || !self->by_signal)
        return;
    struct hf_waiter *other = hf_condition_choose_one(condition); // C3
    if (other)
        hf_waiter_give_turn(other);
    settle_debt(condition);
}

void hf_waiter_give_turn(struct hf_waiter *chosen) {
    sem_post(&chosen->turn);
}

static uintptr_t mark_of_process(void) {
    return fork_depth % HF_WAITER_ALIGNMENT;
}

void hf_turns_owe(hf_turns_owed *turns, struct hf_waiter *chosen) {
    uintptr_t mark = *turns % HF_WAITER_ALIGNMENT;
    chosen->next = *turns && mark == mark_of_process() ? (struct hf_waiter *)(*turns - mark) : NULL;
    *turns = (uintptr_t)chosen | mark_of_process();
}

void hf_turns_give_all(hf_turns_owed turns) {
    uintptr_t mark = turns % HF_WAITER_ALIGNMENT;
    if (mark != mark_of_process())
        return;
    struct hf_waiter *chosen = (struct hf_waiter *)(turns - mark), *next;
    for (; chosen; chosen = next) {
        next = chosen->next;
        hf_waiter_give_turn(chosen);
    }
}

struct hf_waiter *hf_condition_choose_one(struct hf_condition *condition) {
    struct hf_thread_record *self = hf_self();
    uint32_t *lock = list_lock_of(condition);
    list_lock(lock, self);
    forget_waiters_of_parent(condition);
    struct hf_waiter *chosen = condition->first;
    if (chosen) {
        unlink_waiter(condition, chosen);
        chosen->state = HF_WAITER_CHOSEN;
        chosen->by_signal = true;
        hf_fetch_add_relaxed(&condition->in_debt, 1);
    }
    list_unlock(lock, self);
    return chosen;
}

struct hf_waiter *hf_condition_choose_all(struct hf_condition *condition) {
    struct hf_thread_record *self = hf_self();
    uint32_t *lock = list_lock_of(condition);
    list_lock(lock, self);
    forget_waiters_of_parent(condition);
    struct hf_waiter *chosen = condition->first;
    for (struct hf_waiter *waiter = chosen; waiter; waiter = waiter->next)
        waiter->state = HF_WAITER_CHOSEN;
    hf_store_relaxed(&condition->first, NULL);
    condition->last = NULL;
    list_unlock(lock, self);
    return chosen;
}

void hf_condition_destroy(struct hf_condition *condition) {
    if (hf_load_relaxed(&condition->fork_depth) != fork_depth)
        return;
    // Acquire: pairs with settle_debt.
    while (hf_load_acquire(&condition->in_debt) != 0)
        hf_nap(HF_DEBT_NAP_NS);
}

// In a forked child no other thread holds a list, and none of the parent's waiters is there.
static void start_over_in_child(void) {
    for (int i = 0; i < HF_LIST_LOCKS; i++)
        list_locks[i].word = HF_WORD_FREE;
    fork_depth++;
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, start_over_in_child);
}
