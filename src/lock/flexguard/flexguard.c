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
//       not pay         |  |                   | any more, or patience |
//                       v  |                   v is at its end         |
//                  poll, as long as the lock is hot -------------------+
//                       |  | woken               word free             |
//                       v  |                                           |
//                    asleep on the word -------------------------------+
//                         word free when exchanged for HELD_WITH_SLEEPERS
//
// A lock is hot while many releases are seen: then its holder runs, whatever the hint says of others, and a sleeper's
// announcement is overtaken before the kernel can put it to sleep (docs/flexguard.md, "A hot lock"). Nobody looks
// whether it is where that is known to be for nothing.
// Who polls and finds the word free may leave it to an owner that comes back for it, for a slice (defer_policy.h),
// while the lock is released more often that way (lock_history.h). Meanwhile it leaves its CPU to others who want it
// (yield_policy.h). Who polls and never finds it free asks for it. Who was woken may nap before it goes on, as well.
//
// A real-time thread goes before all of them (realtime_waiters.h): it stands in no queue, leaves the word to nobody and
// sleeps where spinning does not pay. As soon as it comes it announces a sleeper, so that each unlock calls the kernel,
// during which the word is free.
//
// Invariants: I1, I2, I4 in park/word_lock.h; I3, I5 in waiter_queue.h; P1, P2 in defer_policy.h; P3 to P5 in
// yield_policy.h; T1 in lock_history.h.
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

enum {
    HF_PATIENCE_POLLS = 1 << 14, // I5: about a millisecond of polling without progress
    HF_PASSING_POLLS = 64,
};

// Before each try to take the word. `realtime` is the caller's place among real-time threads; NULL: it is none.
static inline void give_way(const uint32_t *word, const struct hf_realtime_waiter *realtime) {
    if (!hf_realtime_is_expected())
        return;
    uint64_t since_ns = 0;
    while (hf_load_relaxed(word) == HF_WORD_FREE && hf_realtime_is_to_give_way(word, realtime, &since_ns))
        continue;
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

enum look {
    LOOK_TAKES,  // the lock is held, and the caller critical: a head is so by its place in the queue, and by its depth
                 // before the head is given away
    LOOK_LEAVES, // the word is FREE, for an owner that comes back for it
    LOOK_FAILS,
};

static enum look try_word(uint32_t *word, struct hf_thread_record *self, enum hf_word_state held) {
    give_way(word, NULL);
    return hf_flexguard_try_word(word, self, held) ? LOOK_TAKES : LOOK_FAILS;
}

static enum look look_at(uint32_t *word, const hf_release_count *releases, struct hf_pace *pace,
                         struct hf_thread_record *self, enum hf_word_state held) {
    bool is_free = hf_load_relaxed(word) == HF_WORD_FREE;
    hf_release_count count = hf_load_relaxed(releases);
    if (is_free && hf_pace_takes_at_once(pace, count)) {
        if (try_word(word, self, held) == LOOK_TAKES)
            return LOOK_TAKES;
        is_free = false; // somebody was faster
    }
    uint64_t now_ns = hf_monotonic_ns();
    hf_pace_learn(pace, is_free, count, now_ns);
    struct hf_trial *trial = hf_trial_of(releases);
    pace->batches = !pace->hot && hf_trial_leaves_unhot(trial, releases, count, now_ns) &&
                    hf_pace_has_time_for_batches(pace, now_ns);
    if (!is_free)
        return hf_pace_asks(pace, count, now_ns) && take_or_announce(word, self, NULL) ? LOOK_TAKES : LOOK_FAILS;
    if (!hf_pace_takes(pace, now_ns) && (pace->batches || hf_trial_leaves(trial, releases, count, now_ns)))
        return LOOK_LEAVES;
    return try_word(word, self, held);
}

// Polls in the queue. True with the lock held and the caller critical; false when it is time to sleep.
static bool spin_in_queue(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                          struct hf_thread_record *self, enum hf_word_state held) {
    bool acquired = false, head = false;
    struct hf_pace pace = {0};
    int rests = 0;
    struct hf_patience patience = hf_patience_while(HF_PATIENCE_POLLS, releases);
    hf_queue_enter(tail, self);
    while (hf_patience_lasts(&patience, 1 + rests)) {
        if (head) {
            acquired = look_at(word, releases, &pace, self, held) == LOOK_TAKES;
            if (acquired)
                break;
            rests = hf_rests_before_next_look(rests, &pace);
        } else if (hf_queue_is_head(self)) {
            head = true;
            patience = hf_patience_while(HF_PATIENCE_POLLS, releases);
            pace = hf_pace_begin(hf_load_relaxed(releases), hf_monotonic_ns());
        }
        hf_pause_and_rest(rests);
        if (!head)
            hf_polls_alike_counted(patience.polls_left, -1, hf_patience_polls_alike(&patience));
    }
    hf_queue_leave(tail, self);
    return acquired;
}

// Who was woken may be the only one that was, while others sleep (I2). Before it naps it announces them again, as if it
// were about to sleep itself: then the next unlock wakes another one. False: nobody held the word when it looked.
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

// With the word left to an owner that comes back for it: whether the CPU was left to others meanwhile.
static bool leaves_cpu(uint32_t *word, const hf_release_count *releases, struct hf_naps *naps, struct hf_pace *pace,
                       enum hf_word_state held, struct hf_wait *wait) {
    enum hf_cpu_company company = hf_company_to_leave_cpu_to(naps, wait->self, releases);
    if (company == HF_CPU_ALONE || !wake_is_passed_on(word, held))
        return false;
    *pace = hf_leave_cpu_to(company, releases, naps, wait);
    return true;
}

// Polls outside the queue, where one may stand that does not run. True with the lock held and the caller critical.
static bool poll_while_hot(uint32_t *word, const hf_release_count *releases, struct hf_thread_record *self,
                           enum hf_word_state held, struct hf_naps *naps, struct hf_wait *wait) {
    struct hf_pace pace = hf_pace_begin(hf_load_relaxed(releases), hf_monotonic_ns());
    if (!hf_trial_may_find_it_hot(hf_trial_of(releases), releases, pace.seen, pace.window_ns, !hf_is_in_switch_storm()))
        return false;
    int rests = HF_HOT_RESTS;
    hf_pause_and_rest(rests);
    if (hf_load_relaxed(releases) == pace.seen)
        return false;
    hf_spell_visit(&self->spell, pace.window_ns);
    for (int polls = 0; pace.hot && polls < HF_PATIENCE_POLLS; polls += 1 + rests) {
        enum look look = look_at(word, releases, &pace, self, held);
        if (look == LOOK_TAKES) {
            if (naps->last_ns != 0)
                hf_trial_begin_turn(hf_trial_of(releases), hf_monotonic_ns());
            return true;
        }
        rests = hf_rests_before_next_look(rests, &pace);
        if (look == LOOK_LEAVES && pace.hot && leaves_cpu(word, releases, naps, &pace, held, wait))
            rests = HF_HOT_RESTS;
        hf_pause_and_rest(rests);
    }
    return false;
}

// P5: whoever stood by takes a word that is FREE for a moment. True with the lock held and the caller critical.
static bool poll_after_standing_by(uint32_t *word, struct hf_thread_record *self) {
    uint64_t since_ns = hf_monotonic_ns();
    do {
        if (hf_load_relaxed(word) == HF_WORD_FREE && try_word(word, self, HF_WORD_HELD_WITH_SLEEPERS) == LOOK_TAKES)
            return true;
        hf_pause();
    } while (hf_ns_since(since_ns, hf_monotonic_ns()) < HF_STAND_BY_POLL_NS);
    return false;
}

struct leaving {
    struct hf_left_wait left;
    uint32_t *word;
    hf_queue_tail *tail;
    bool counted; // as a sleeper
    struct hf_realtime_waiter realtime;
};

// It may be the one sleeper that was woken: another one goes on in its place (I2).
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
                                                   struct hf_naps naps, struct hf_wait *wait, bool *counted) {
    for (;;) {
        if (hf_spinning_pays() && hf_queue_may_enter(self)) {
            if (spin_in_queue(word, tail, releases, self, held)) {
                hf_count(self, spun);
                return 0;
            }
            hf_count(self, mode_switches);
        }
        if (poll_while_hot(word, releases, self, held, &naps, wait)) {
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
        held = HF_WORD_HELD_WITH_SLEEPERS; // I2
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
        if (hf_stands_by(releases, since_ns, &naps, wait) && poll_after_standing_by(word, self)) {
            hf_count(self, spun);
            return 0;
        }
    }
}

// Polls the word, which tells its owners of a sleeper, while spinning pays; once where it does not. True with the lock
// held and the caller critical.
static bool poll_before_others(uint32_t *word, const hf_release_count *releases, struct hf_thread_record *self,
                               const struct hf_realtime_waiter *realtime) {
    struct hf_patience patience = hf_patience_while(HF_PATIENCE_POLLS, releases);
    do {
        uint32_t state = hf_load_relaxed(word);
        if (state == HF_WORD_HELD)
            hf_cas_relaxed(word, HF_WORD_HELD, HF_WORD_HELD_WITH_SLEEPERS);
        else if (state == HF_WORD_FREE)
            give_way(word, realtime);
        if (state == HF_WORD_FREE && hf_flexguard_try_word(word, self, HF_WORD_HELD_WITH_SLEEPERS)) // I2
            return true;
    } while (hf_patience_left(&patience));
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

// In a frame of its own: who leaves goes through this one.
static int wait_until_done_or_left(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                                   struct hf_thread_record *self, const struct hf_deadline *deadline,
                                   enum hf_word_state held, struct hf_naps naps, struct hf_wait *wait) {
    __attribute__((cleanup(unwound))) struct leaving leaving = {.word = word, .tail = tail};
    unsigned priority = hf_realtime_priority();
    hf_left_wait_begin(&leaving.left, self, self->critical.critical_depth, undo);
    int error;
    if (HF_LIKELY(priority == 0)) {
        error = go_on_waiting(word, tail, releases, self, deadline, held, naps, wait, &leaving.counted);
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
                         struct hf_naps naps) {
    struct hf_wait wait = hf_wait_begin(self);
    hf_count(self, contended);
    int error = wait_until_done_or_left(word, tail, releases, self, deadline, held, naps, &wait);
    if (!error)
        hf_count_waited_acquisition(self);
    hf_note_wait(word, self, HF_STATISTICS_MUTEX, &wait, !error);
    return error;
}

int hf_flexguard_wait(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                      struct hf_thread_record *self, const struct hf_deadline *deadline, enum hf_word_state held) {
    return wait_and_note(word, tail, releases, self, deadline, held, hf_naps_begin(!deadline && hf_may_nap(self, 0)));
}

int hf_flexguard_wait_in_slice(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                               struct hf_thread_record *self, const struct hf_deadline *deadline) {
    return wait_and_note(word, tail, releases, self, deadline, HF_WORD_HELD, hf_naps_begin(false));
}

int hf_flexguard_go_on_waiting(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                               struct hf_thread_record *self, const struct hf_deadline *deadline,
                               struct hf_wait *wait) {
    return wait_until_done_or_left(word, tail, releases, self, deadline, HF_WORD_HELD, hf_naps_begin(false), wait);
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
