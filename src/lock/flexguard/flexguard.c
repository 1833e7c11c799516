// SPDX-License-Identifier: MIT OR Apache-2.0
// FlexGuard (Laforet et al., SOSP '25, Listing 2, without its recursion): wait in a queue and poll while the hint says
// that spinning pays; from the moment it does not, leave the queue and sleep on the word.
//
//             word free                                        word free
//   lock() -------------------------------------------------------------> inside
//      |                                                            ^  ^
//      | word taken        spinning pays                            |  |
//      +--------------> ? -----------------> in the queue ----------+  |
//                       |  ^                   |  head, word free      |
//                       |  |                   |                       |
//       spinning does   |  |                   | spinning does not pay |
//       not pay         |  |                   | any more, or its      |
//                       v  |                   v budget is spent       |
//                  poll, as long as the lock is hot -------------------+
//                       |  | woken               word free             |
//                       v  |                                           |
//                    asleep on the word -------------------------------+
//                         word free when exchanged for HELD_WITH_SLEEPERS
//
// A lock is hot while many releases are seen: then its holder runs, whatever the hint says of others, and a sleeper's
// announcement is overtaken before the kernel can put it to sleep (docs/flexguard.md, "What a waiter does"). A lock
// that is known to be slow is not sampled. A waiter that finds the word free may defer to an owner that comes back for
// it, for a slice (defer_policy.h), while the lock is released more often that way (lock_history.h). Meanwhile it
// yields its CPU to others that want it (yield_policy.h). A waiter that polls and never finds the word free announces a
// sleeper. A woken waiter may sleep briefly before it competes again.
//
// A real-time thread goes before all of them (realtime_waiters.h): it stands in no queue, defers to nobody, and sleeps
// where spinning does not pay. As soon as it comes it announces a sleeper, so that each unlock calls the kernel, during
// which the word is free.
//
// Invariants: word.I1, I2, I4 in park/word_lock.h; queue.I3, I5 in waiter_queue.h; wait.P1, P2 in defer_policy.h;
// wait.P3 to P5 in yield_policy.h; wait.T1 in lock_history.h.
// Model: verify/lock/flexguard.pml.
#include <errno.h>

#include "holdfast/flexguard.h"

#include "base/clock.h"
#include "lock/flexguard/flexguard_lock.h"
#include "lock/wait/lock_history.h"
#include "lock/wait/realtime_waiters.h"
#include "lock/wait/spin_budget.h"
#include "lock/wait/yield_policy.h"
#include "park/deadline.h"
#include "thread/left_wait.h"

enum { HF_PASSING_POLLS = 64 };

static inline bool is_free(uint32_t state) {
    return state == HF_WORD_FREE;
}

// `realtime` is the caller's place among real-time threads; NULL: it is none.
static inline void give_way(const uint32_t *word, const struct hf_realtime_waiter *realtime) {
    hf_realtime_give_way(word, is_free, realtime);
}

// Takes the word if it is free; if not, its owner's unlock will call the kernel. True with the lock held and the caller
// critical.
static bool take_or_announce(uint32_t *word, struct hf_thread_record *self, const struct hf_realtime_waiter *realtime) {
    give_way(word, realtime);
    hf_critical_enter(self);
    if (hf_word_take_or_announce(word))
        return true;
    hf_critical_leave(self);
    return false;
}

enum sample {
    SAMPLE_ACQUIRES, // the lock is held, and the caller critical: a head is so by its place in the queue, and by its
                     // depth before the head is given away
    SAMPLE_DEFERS,   // the word is FREE, for an owner that comes back for it
    SAMPLE_FAILS,
};

static enum sample try_word(uint32_t *word, struct hf_thread_record *self, enum hf_word_state held) {
    give_way(word, NULL);
    return hf_flexguard_try_word(word, self, held) ? SAMPLE_ACQUIRES : SAMPLE_FAILS;
}

static enum sample sample_word(uint32_t *word, const hf_release_count *releases, struct hf_defer *defer,
                               struct hf_thread_record *self, enum hf_word_state held) {
    bool is_free = hf_load_relaxed(word) == HF_WORD_FREE;
    hf_release_count count = hf_load_relaxed(releases);
    if (is_free && hf_defer_barges_at_once(defer, count)) {
        if (try_word(word, self, held) == SAMPLE_ACQUIRES)
            return SAMPLE_ACQUIRES;
        is_free = false; // somebody was faster
    }
    uint64_t now_ns = hf_monotonic_ns();
    hf_defer_learn(defer, is_free, count, now_ns);
    struct hf_lock_history *history = hf_history_of(releases);
    defer->batches = !defer->hot && hf_history_defers_unhot(history, releases, count, now_ns) &&
                     hf_defer_has_time_for_batches(defer, now_ns);
    if (!is_free)
        return hf_defer_announces(defer, count, now_ns) && take_or_announce(word, self, NULL) ? SAMPLE_ACQUIRES
                                                                                              : SAMPLE_FAILS;
    if (!hf_defer_barges(defer, now_ns) && (defer->batches || hf_history_defers(history, releases, count, now_ns)))
        return SAMPLE_DEFERS;
    return try_word(word, self, held);
}

// Polls in the queue. True with the lock held and the caller critical; false when it is time to sleep.
static bool spin_in_queue(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                          struct hf_thread_record *self, enum hf_word_state held) {
    bool acquired = false, head = false;
    struct hf_defer defer = {0};
    int pauses = 0;
    struct hf_spin_budget budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, releases);
    hf_queue_enter(tail, self);
    while (hf_spin_budget_lasts(&budget, 1 + pauses)) {
        if (head) {
            acquired = sample_word(word, releases, &defer, self, held) == SAMPLE_ACQUIRES;
            if (acquired)
                break;
            pauses = hf_pauses_before_next_sample(pauses, &defer);
        } else if (hf_queue_is_head(self)) {
            head = true;
            budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, releases);
            defer = hf_defer_begin(hf_load_relaxed(releases), hf_monotonic_ns());
        }
        hf_pause_between_samples(pauses);
        if (!head)
            hf_polls_alike_counted(budget.polls_left, -1, hf_spin_budget_polls_alike(&budget));
    }
    hf_queue_leave(tail, self);
    return acquired;
}

// A woken waiter may be the only one that was woken, while others sleep (word.I2). Before it yields it announces them
// again, as if it were about to sleep itself: then the next unlock wakes another one. False: nobody held the word when
// it looked.
static bool wake_is_passed_on(uint32_t *word, enum hf_word_state held) {
    if (held == HF_WORD_HELD)
        return true;
    for (int polls = 0; polls < HF_PASSING_POLLS; polls++) {
        uint32_t state = hf_load_relaxed(word);
        if (state == HF_WORD_HELD_WITH_SLEEPERS ||
            (state == HF_WORD_HELD && hf_cas_relaxed(word, HF_WORD_HELD, HF_WORD_HELD_WITH_SLEEPERS)))
            return true;
        hf_pause();
    }
    return false;
}

// A waiter that defers: whether it has yielded its CPU meanwhile.
static bool yields_cpu(uint32_t *word, const hf_release_count *releases, struct hf_yields *yields,
                       struct hf_defer *defer, enum hf_word_state held, struct hf_wait *wait) {
    enum hf_cpu_contention contention = hf_contention_to_yield_to(yields, wait->self, releases);
    if (contention == HF_CPU_UNCONTENDED || !wake_is_passed_on(word, held))
        return false;
    *defer = hf_yield_cpu_to(contention, releases, yields, wait);
    return true;
}

// Polls outside the queue, whose head may not run. True with the lock held and the caller critical.
static bool poll_while_hot(uint32_t *word, const hf_release_count *releases, struct hf_thread_record *self,
                           enum hf_word_state held, struct hf_yields *yields, struct hf_wait *wait) {
    struct hf_defer defer = hf_defer_begin(hf_load_relaxed(releases), hf_monotonic_ns());
    if (!hf_history_may_find_it_hot(hf_history_of(releases), releases, defer.seen, defer.window_ns,
                                    !hf_is_in_switch_storm()))
        return false;
    int pauses = HF_HOT_PAUSES;
    hf_pause_between_samples(pauses);
    if (hf_load_relaxed(releases) == defer.seen)
        return false;
    for (int polls = 0; defer.hot && polls < HF_SPIN_BUDGET_POLLS; polls += 1 + pauses) {
        enum sample sample = sample_word(word, releases, &defer, self, held);
        if (sample == SAMPLE_ACQUIRES) {
            if (yields->last_ns != 0)
                hf_history_begin_turn(hf_history_of(releases), hf_monotonic_ns());
            return true;
        }
        pauses = hf_pauses_before_next_sample(pauses, &defer);
        if (sample == SAMPLE_DEFERS && defer.hot && yields_cpu(word, releases, yields, &defer, held, wait))
            pauses = HF_HOT_PAUSES;
        hf_pause_between_samples(pauses);
    }
    return false;
}

// wait.P5: a designated waker takes a word that is FREE for a moment. True with the lock held and the caller critical.
static bool poll_as_designated_waker(uint32_t *word, struct hf_thread_record *self) {
    uint64_t since_ns = hf_monotonic_ns();
    do {
        if (hf_load_relaxed(word) == HF_WORD_FREE &&
            try_word(word, self, HF_WORD_HELD_WITH_SLEEPERS) == SAMPLE_ACQUIRES)
            return true;
        hf_pause();
    } while (hf_ns_since(since_ns, hf_monotonic_ns()) < HF_DESIGNATED_POLL_NS);
    return false;
}

struct leaving {
    struct hf_left_wait left;
    uint32_t *word;
    hf_queue_tail *tail;
    bool counted; // as a sleeper
    struct hf_realtime_waiter realtime;
};

// It may be the one sleeper that was woken: another one goes on in its place (word.I2).
static void undo(struct hf_left_wait *left) {
    struct leaving *leaving = (struct leaving *)left;
    if (left->was_unqueued && !hf_queue_may_enter(left->self))
        hf_queue_leave(leaving->tail, left->self);
    if (leaving->counted)
        hf_sleeper_goes(leaving->word);
    hf_realtime_leave(&leaving->realtime);
    hf_word_wake(leaving->word);
}

static void unwound(struct leaving *leaving) {
    hf_left_wait_unwound(&leaving->left);
}

static __attribute__((noinline)) int go_on_waiting(uint32_t *word, hf_queue_tail *tail,
                                                   const hf_release_count *releases, struct hf_thread_record *self,
                                                   const struct hf_deadline *deadline, enum hf_word_state held,
                                                   struct hf_yields yields, struct hf_wait *wait, bool *counted) {
    for (;;) {
        if (hf_spinning_pays() && hf_queue_may_enter(self)) {
            if (spin_in_queue(word, tail, releases, self, held)) {
                hf_count(self, spun);
                return 0;
            }
            hf_count(self, mode_switches);
        }
        if (poll_while_hot(word, releases, self, held, &yields, wait)) {
            hf_count(self, spun);
            return 0;
        }
        hf_sleeper_comes(word);
        hf_store_relaxed(counted, true);
        if (take_or_announce(word, self, NULL)) {
            hf_store_relaxed(counted, false);
            hf_sleeper_goes(word);
            return 0;
        }
        held = HF_WORD_HELD_WITH_SLEEPERS; // word.I2
        hf_count(self, blocked);
        hf_hint_look_again();
        hf_wait_falls_asleep(wait);
        uint64_t since_ns = hf_monotonic_ns();
        int error = hf_futex_wait(word, HF_WORD_HELD_WITH_SLEEPERS, deadline);
        hf_store_relaxed(counted, false);
        hf_sleeper_goes(word);
        hf_wait_awakes(wait);
        if (error == ETIMEDOUT)
            return ETIMEDOUT;
        if (hf_designated_waker_sleeps(releases, since_ns, &yields, wait) && poll_as_designated_waker(word, self)) {
            hf_count(self, spun);
            return 0;
        }
    }
}

// Polls the word, which tells its owners of a sleeper, while spinning pays; once where it does not. True with the lock
// held and the caller critical.
static bool poll_before_others(uint32_t *word, const hf_release_count *releases, struct hf_thread_record *self,
                               const struct hf_realtime_waiter *realtime) {
    struct hf_spin_budget budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, releases);
    do {
        uint32_t state = hf_load_relaxed(word);
        if (state == HF_WORD_HELD)
            hf_cas_relaxed(word, HF_WORD_HELD, HF_WORD_HELD_WITH_SLEEPERS);
        else if (state == HF_WORD_FREE)
            give_way(word, realtime);
        if (state == HF_WORD_FREE && hf_flexguard_try_word(word, self, HF_WORD_HELD_WITH_SLEEPERS)) // word.I2
            return true;
    } while (hf_spin_budget_left(&budget));
    return false;
}

// It counts as a sleeper all the time: owners that store FREE plainly would not see what it announces.
static __attribute__((noinline)) int go_before_others(const hf_release_count *releases, struct hf_thread_record *self,
                                                      const struct hf_deadline *deadline, struct hf_wait *wait,
                                                      struct leaving *leaving) {
    uint32_t *word = leaving->word;
    int error = 0;
    hf_sleeper_comes(word);
    hf_store_relaxed(&leaving->counted, true);
    while (error != ETIMEDOUT) {
        if (poll_before_others(word, releases, self, &leaving->realtime)) {
            hf_count(self, spun);
            break;
        }
        if (take_or_announce(word, self, &leaving->realtime))
            break;
        hf_count(self, blocked);
        hf_hint_look_again();
        hf_wait_falls_asleep(wait);
        error = hf_futex_wait(word, HF_WORD_HELD_WITH_SLEEPERS, deadline);
        hf_wait_awakes(wait);
    }
    hf_store_relaxed(&leaving->counted, false);
    hf_sleeper_goes(word);
    return error == ETIMEDOUT ? ETIMEDOUT : 0;
}

// In a frame of its own: a thread that leaves by unwinding goes through this one.
static int wait_until_done_or_left(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                                   struct hf_thread_record *self, const struct hf_deadline *deadline,
                                   enum hf_word_state held, struct hf_yields yields, struct hf_wait *wait) {
    __attribute__((cleanup(unwound))) struct leaving leaving = {.word = word, .tail = tail};
    unsigned priority = hf_realtime_priority();
    hf_left_wait_begin(&leaving.left, self, self->critical.critical_depth, undo);
    int error;
    if (HF_LIKELY(priority == 0)) {
        error = go_on_waiting(word, tail, releases, self, deadline, held, yields, wait, &leaving.counted);
    } else {
        hf_realtime_join(&leaving.realtime, word, priority);
        error = go_before_others(releases, self, deadline, wait, &leaving);
        hf_realtime_leave(&leaving.realtime);
    }
    hf_left_wait_end(&leaving.left);
    return error;
}

static int wait_and_note(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                         struct hf_thread_record *self, const struct hf_deadline *deadline, enum hf_word_state held,
                         struct hf_yields yields) {
    struct hf_wait wait = hf_wait_begin(self);
    hf_count(self, contended);
    int error = wait_until_done_or_left(word, tail, releases, self, deadline, held, yields, &wait);
    if (!error)
        hf_count_waited_acquisition(self);
    hf_note_wait(word, self, HF_STATISTICS_MUTEX, &wait, !error);
    return error;
}

int hf_flexguard_wait(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                      struct hf_thread_record *self, const struct hf_deadline *deadline, enum hf_word_state held) {
    return wait_and_note(word, tail, releases, self, deadline, held,
                         hf_yields_begin(!deadline && hf_may_yield(self, 0)));
}

int hf_flexguard_wait_in_slice(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                               struct hf_thread_record *self, const struct hf_deadline *deadline) {
    return wait_and_note(word, tail, releases, self, deadline, HF_WORD_HELD, hf_yields_begin(false));
}

int hf_flexguard_go_on_waiting(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                               struct hf_thread_record *self, const struct hf_deadline *deadline,
                               struct hf_wait *wait) {
    return wait_until_done_or_left(word, tail, releases, self, deadline, HF_WORD_HELD, hf_yields_begin(false), wait);
}

void hf_flexguard_lock(hf_flexguard_t *lock) {
    hf_flexguard_acquire(&lock->word, &lock->queue_tail, &lock->releases, hf_self(), NULL);
}

bool hf_flexguard_trylock(hf_flexguard_t *lock) {
    return hf_flexguard_try_acquire(&lock->word, hf_self());
}

int hf_flexguard_clocklock(hf_flexguard_t *lock, clockid_t clock, const struct timespec *at) {
    struct hf_thread_record *self = hf_self();
    if (hf_flexguard_try_acquire(&lock->word, self))
        return 0;
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    if (!hf_deadline_is_valid(&deadline))
        return EINVAL;
    return hf_flexguard_wait(&lock->word, &lock->queue_tail, &lock->releases, self, &deadline, HF_WORD_HELD);
}

void hf_flexguard_unlock(hf_flexguard_t *lock) {
    hf_flexguard_release(&lock->word, &lock->releases, &lock->fenced, hf_self());
}
