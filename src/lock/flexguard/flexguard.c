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
// Where threads sleep for the lock and the head of the queue polls it, an unlock leaves it to the latter and wakes
// nobody (park/heirs.h).
//
// A waiter that has waited for so long that a fair lock would have been its own claims the lock, and the next owner
// hands it over (wait.P6 in defer_policy.h, park/claims.h).
//
// A real-time thread goes before all of them (realtime_waiters.h): it stands in no queue, defers to nobody, and sleeps
// where spinning does not pay. As soon as it comes it announces a sleeper, so that each unlock calls the kernel, during
// which the word is free.
//
// Invariants: word.I1, I2, I4 in park/word_lock.h; heir.H1, H2 in park/heirs.h; queue.I3, I5 in waiter_queue.h;
// wait.P1, P2 in defer_policy.h; wait.P3 to P5 in yield_policy.h; wait.T1 in lock_history.h.
// Model: verify/lock/flexguard.pml.
#include <errno.h>

#include "holdfast/flexguard.h"

#include "base/clock.h"
#include "lock/flexguard/flexguard_lock.h"
#include "lock/wait/next_step.h"
#include "lock/wait/pace.h"
#include "lock/wait/realtime_waiters.h"
#include "lock/wait/spin_budget.h"
#include "observe/counted_steps.h"
#include "park/deadline.h"
#include "thread/left_wait.h"

_Static_assert(HF_CLAIM_NS == HF_FLEXGUARD_SLICE_NS, "as the public header says");

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

// A wait, and who waits.
struct waiter {
    struct hf_left_wait left;
    uint32_t *word;
    hf_queue_tail *tail;
    const hf_release_count *releases;
    struct hf_thread_record *self;
    const struct hf_deadline *deadline;
    struct hf_wait *wait;
    enum hf_word_state held; // how it takes the word
    bool counted;            // as a sleeper
    struct hf_realtime_waiter realtime;
    bool may_claim; // and be an heir: its lock's owners look for both
    bool is_heir;
    struct hf_claim claim;
    struct hf_spin_budget budget;
    struct hf_wait_state state;
};

// The flag comes first, since a wait that is left ends what the flag says.
static void become_heir(struct waiter *waiter) {
    hf_store_relaxed(&waiter->is_heir, true);
    hf_program_order();
    if (!hf_heir_begin(waiter->word))
        hf_store_relaxed(&waiter->is_heir, false);
}

// As if it had been woken: heir.H1.
static void leave_inheritance(struct waiter *waiter) {
    if (waiter->is_heir && hf_heir_end(waiter->word, false))
        waiter->held = HF_WORD_HELD_WITH_SLEEPERS;
    hf_store_relaxed(&waiter->is_heir, false);
}

// As owner.
static void take_inheritance(struct waiter *waiter) {
    if (waiter->is_heir && hf_heir_end(waiter->word, true))
        hf_cas_relaxed(waiter->word, HF_WORD_HELD, HF_WORD_HELD_WITH_SLEEPERS);
    hf_store_relaxed(&waiter->is_heir, false);
}

static bool try_word(const struct waiter *waiter) {
    give_way(waiter->word, NULL);
    return hf_flexguard_try_word(waiter->word, waiter->self, waiter->held);
}

// True if the word was taken meanwhile.
static bool sample_word(const struct waiter *waiter, struct hf_wait_sample *sample) {
    sample->is_free = hf_load_relaxed(waiter->word) == HF_WORD_FREE;
    sample->releases = hf_load_relaxed(waiter->releases);
    if (sample->is_free && hf_wait_takes_at_once(&waiter->state, sample->releases)) {
        if (try_word(waiter))
            return true;
        sample->is_free = false; // somebody was faster
    }
    sample->now_ns = hf_monotonic_ns();
    if (waiter->may_claim)
        sample->threads = hf_load_relaxed(&hf_threads_with_records);
    return false;
}

// A woken waiter may be the only one that was woken, while others sleep (word.I2). Before it yields it announces them
// again, as if it were about to sleep itself: then the next unlock wakes another one. False: nobody held the word when
// it looked, and it keeps its CPU.
static bool wake_is_passed_on(const struct waiter *waiter) {
    if (waiter->held == HF_WORD_HELD)
        return true;
    for (int polls = 0; polls < HF_PASSING_POLLS; polls++) {
        uint32_t state = hf_load_relaxed(waiter->word);
        if (state == HF_WORD_HELD_WITH_SLEEPERS ||
            (state == HF_WORD_HELD && hf_cas_relaxed(waiter->word, HF_WORD_HELD, HF_WORD_HELD_WITH_SLEEPERS)))
            return true;
        hf_pause();
    }
    return false;
}

// What the waiter's place asks for. True if the word was taken meanwhile.
static bool sample_what_is_asked(struct waiter *waiter, struct hf_wait_sample *sample) {
    struct hf_thread_record *self = waiter->self;
    switch (waiter->state.place) {
    case HF_AT_BEGIN: sample->spins = hf_spinning_pays() && hf_queue_may_enter(self); break;
    case HF_AT_QUEUE:
        sample->spins = hf_spin_budget_lasts(&waiter->budget, 1);
        sample->is_head = sample->spins && hf_queue_is_head(self);
        if (sample->is_head) {
            waiter->budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, waiter->releases);
            hf_sample_releases(sample, waiter->releases);
        }
        break;
    case HF_AT_HEAD:
        sample->spins = hf_spin_budget_lasts(&waiter->budget, 1 + waiter->state.pauses);
        if (sample->spins && hf_load_relaxed(waiter->word) == HF_WORD_HELD_WITH_SLEEPERS && waiter->may_claim &&
            !waiter->is_heir)
            become_heir(waiter);
        return sample->spins && sample_word(waiter, sample);
    case HF_AT_LOCK:
        hf_sample_releases(sample, waiter->releases);
        sample->in_storm = hf_is_in_switch_storm();
        break;
    case HF_AT_SECOND_SAMPLE: sample->releases = hf_load_relaxed(waiter->releases); break;
    case HF_AT_HOT:
        if (sample_word(waiter, sample))
            return true;
        hf_sample_cpu(sample, self, &waiter->state.yields);
        break;
    case HF_AT_ADAPTIVE: sample->is_free = is_free(hf_load_relaxed(waiter->word)); break;
    case HF_AT_SLEEP_END: hf_sample_after_sleep(sample, self, waiter->releases); break;
    case HF_AT_YIELD_END: hf_sample_after_yield(sample, self, waiter->releases, waiter->state.since_ns); break;
    case HF_AT_END: break;
    case HF_AT_WOKEN:
        hf_sample_releases(sample, waiter->releases);
        if (waiter->may_claim)
            sample->threads = hf_load_relaxed(&hf_threads_with_records);
        sample->turns_end = hf_turns_end(sample->now_ns);
        break;
    case HF_AT_DESIGNATED_SLEEP_END: hf_sample_releases(sample, waiter->releases); break;
    case HF_AT_DESIGNATED:
        sample->spins = hf_wait_polls_as_designated(&waiter->state, hf_monotonic_ns());
        sample->is_free = sample->spins && hf_load_relaxed(waiter->word) == HF_WORD_FREE;
        break;
    }
    return false;
}

// It may be the one sleeper that was woken: another one goes on in its place (word.I2).
static void undo(struct hf_left_wait *left) {
    struct waiter *waiter = (struct waiter *)left;
    leave_inheritance(waiter);
    if (left->was_unqueued && !hf_queue_may_enter(left->self))
        hf_queue_leave(waiter->tail, left->self);
    bool owns = hf_claim_end(&waiter->claim);
    if (waiter->counted)
        hf_sleeper_goes(waiter->word);
    hf_realtime_leave(&waiter->realtime);
    if (owns)
        hf_word_unlock(waiter->word);
    else
        hf_word_wake(waiter->word);
}

static void unwound(struct waiter *waiter) {
    hf_left_wait_unwound(&waiter->left);
}

static void count_as_sleeper(struct waiter *waiter) {
    hf_sleeper_comes(waiter->word);
    hf_store_relaxed(&waiter->counted, true);
}

static void count_no_more(struct waiter *waiter) {
    hf_store_relaxed(&waiter->counted, false);
    hf_sleeper_goes(waiter->word);
}

// Until woken, or ETIMEDOUT.
static int sleep_on_word(struct waiter *waiter) {
    hf_count(waiter->self, blocked);
    hf_hint_look_again();
    hf_wait_falls_asleep(waiter->wait);
    hf_wait_marks_hold(waiter->wait);
    waiter->state.since_ns = hf_monotonic_ns();
    return hf_futex_wait(waiter->word, HF_WORD_HELD_WITH_SLEEPERS, waiter->deadline);
}

// Polls for the claim to be met, or for the word that an owner has given back without a look at it (claim.C3), while
// spinning pays; once where it does not. The claimant may be the one sleeper that was woken: it announces the others.
static bool poll_as_claimant(const struct waiter *waiter) {
    struct hf_spin_budget budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, waiter->releases);
    do {
        uint32_t state = hf_load_relaxed(waiter->word);
        if (state == HF_WORD_HELD)
            hf_cas_relaxed(waiter->word, HF_WORD_HELD, HF_WORD_HELD_WITH_SLEEPERS);
        if (hf_claim_is_met(&waiter->claim) ||
            (is_free(state) && hf_word_trylock(waiter->word, HF_WORD_HELD_WITH_SLEEPERS)))
            return true;
    } while (hf_spin_budget_left(&budget));
    return false;
}

static int await_claim(struct waiter *waiter) {
    uint64_t sleep_ns = HF_CLAIM_SLEEP_NS;
    hf_wait_keeps_mark(waiter->wait);
    while (!poll_as_claimant(waiter)) {
        struct hf_deadline deadline = hf_deadline_or_in(waiter->deadline, sleep_ns);
        hf_count(waiter->self, blocked);
        hf_wait_falls_asleep(waiter->wait);
        hf_wait_marks_hold(waiter->wait);
        int error = hf_futex_wait(&waiter->claim.state, HF_CLAIM_STANDS, &deadline);
        hf_wait_awakes(waiter->wait);
        if (error == ETIMEDOUT && waiter->deadline && hf_deadline_has_passed(waiter->deadline))
            return ETIMEDOUT;
        if (sleep_ns < HF_CLAIM_SLEEP_NS_MAX)
            sleep_ns *= 2;
    }
    return 0;
}

// It counts as a sleeper all the time: owners that store FREE plainly would not see its claim.
static __attribute__((noinline)) int claim_lock(struct waiter *waiter) {
    struct hf_thread_record *self = waiter->self;
    leave_inheritance(waiter);
    if (!hf_queue_may_enter(self) && waiter->left.was_unqueued)
        hf_queue_leave(waiter->tail, self);
    hf_count_step(HF_COUNTED_CLAIMED);
    count_as_sleeper(waiter);
    hf_critical_enter_for(self, waiter->word); // claim.C4
    hf_claim_begin(&waiter->claim, waiter->word, waiter->state.began_ns);
    int error = await_claim(waiter);
    bool is_met = hf_claim_end(&waiter->claim);
    if (is_met)
        hf_wait_has_it_since(waiter->wait, waiter->claim.met_ticks);
    if (is_met || (error && hf_word_take_or_announce(waiter->word))) // word.I2
        error = 0;
    if (error)
        hf_critical_leave(self);
    count_no_more(waiter);
    return error;
}

enum outcome { WAITS_ON, ACQUIRED, ACQUIRED_UNSPUN, TIMED_OUT };

static enum outcome fall_asleep(struct waiter *waiter) {
    count_as_sleeper(waiter);
    if (take_or_announce(waiter->word, waiter->self, NULL)) {
        count_no_more(waiter);
        return ACQUIRED_UNSPUN;
    }
    waiter->held = HF_WORD_HELD_WITH_SLEEPERS; // word.I2
    int error = sleep_on_word(waiter);
    count_no_more(waiter);
    hf_wait_awakes(waiter->wait);
    return error == ETIMEDOUT ? TIMED_OUT : WAITS_ON;
}

static void pause_before_sample(struct waiter *waiter) {
    hf_pause_between_samples(waiter->state.pauses);
    if (waiter->state.place == HF_AT_QUEUE)
        hf_polls_alike_counted(waiter->budget.polls_left, -1, hf_spin_budget_polls_alike(&waiter->budget));
}

static enum outcome take_step(struct waiter *waiter, enum hf_wait_step step) {
    switch (step) {
    case HF_WAIT_SAMPLE: return WAITS_ON;
    case HF_WAIT_PAUSE: break;
    case HF_WAIT_TAKE:
        if (try_word(waiter))
            return ACQUIRED;
        break;
    case HF_WAIT_ANNOUNCE:
        if (take_or_announce(waiter->word, waiter->self, NULL))
            return ACQUIRED;
        hf_count_step(HF_COUNTED_ANNOUNCED);
        break;
    case HF_WAIT_ENTER:
        waiter->budget = hf_spin_budget_of(HF_SPIN_BUDGET_POLLS, waiter->releases);
        hf_queue_enter(waiter->tail, waiter->self);
        return WAITS_ON;
    case HF_WAIT_LEAVE:
        leave_inheritance(waiter);
        hf_queue_leave(waiter->tail, waiter->self);
        hf_count(waiter->self, mode_switches);
        return WAITS_ON;
    case HF_WAIT_YIELD:
        if (wake_is_passed_on(waiter))
            hf_wait_yield();
        return WAITS_ON;
    case HF_WAIT_TIMED_SLEEP:
        if (waiter->state.place == HF_AT_DESIGNATED_SLEEP_END || wake_is_passed_on(waiter))
            hf_wait_timed_sleep(waiter->wait, &waiter->state);
        else
            hf_wait_keeps_cpu(&waiter->state);
        return WAITS_ON;
    case HF_WAIT_CLAIM: return claim_lock(waiter) ? TIMED_OUT : ACQUIRED_UNSPUN;
    case HF_WAIT_BLOCK: return fall_asleep(waiter);
    }
    pause_before_sample(waiter);
    return WAITS_ON;
}

// The caller is critical, by its place in the queue and by its depth before the head is given away.
static void leave_with_lock(struct waiter *waiter, struct hf_lock_history *history, bool is_head) {
    take_inheritance(waiter);
    if (is_head)
        hf_queue_leave(waiter->tail, waiter->self);
    else if (hf_wait_begins_turn(&waiter->state))
        hf_history_begin_turn(history, hf_monotonic_ns());
    hf_count(waiter->self, spun);
}

// What it may do meanwhile.
struct manner {
    struct hf_yields yields;
    bool may_claim;
    bool is_adaptive;
};

static __attribute__((noinline)) int go_on_waiting(struct waiter *waiter, const struct manner *manner) {
    struct hf_lock_history *history = hf_history_of(waiter->releases);
    enum outcome outcome = WAITS_ON;
    enum hf_wait_place place;
    waiter->state = hf_wait_state_begin(manner->yields, hf_load_relaxed(waiter->releases), hf_monotonic_ns());
    waiter->state.is_adaptive = manner->is_adaptive;
    uint64_t looked_ns = waiter->state.began_ns;
    waiter->state.has_work = hf_pace_has_work(waiter->self, looked_ns);
    do {
        struct hf_wait_sample sample = {0};
        place = waiter->state.place;
        if (sample_what_is_asked(waiter, &sample))
            outcome = ACQUIRED;
        else
            outcome = take_step(waiter, hf_wait_next(&waiter->state, history, waiter->releases, &sample));
        if (sample.now_ns)
            looked_ns = sample.now_ns;
    } while (outcome == WAITS_ON);
    if (outcome == ACQUIRED)
        leave_with_lock(waiter, history, place == HF_AT_HEAD);
    hf_pace_begin(waiter->self, looked_ns); // the clock takes time, and others wait for its section
    return outcome == TIMED_OUT ? ETIMEDOUT : 0;
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
static __attribute__((noinline)) int go_before_others(struct waiter *waiter) {
    struct hf_thread_record *self = waiter->self;
    int error = 0;
    count_as_sleeper(waiter);
    while (error != ETIMEDOUT) {
        if (poll_before_others(waiter->word, waiter->releases, self, &waiter->realtime)) {
            hf_count(self, spun);
            break;
        }
        if (take_or_announce(waiter->word, self, &waiter->realtime))
            break;
        error = sleep_on_word(waiter);
        hf_wait_awakes(waiter->wait);
    }
    count_no_more(waiter);
    return error == ETIMEDOUT ? ETIMEDOUT : 0;
}

// In a frame of its own: a thread that leaves by unwinding goes through this one.
static int wait_until_done_or_left(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                                   struct hf_thread_record *self, const struct hf_deadline *deadline,
                                   enum hf_word_state held, const struct manner *manner, struct hf_wait *wait) {
    __attribute__((cleanup(unwound))) struct waiter waiter = {.word = word,
                                                              .tail = tail,
                                                              .releases = releases,
                                                              .self = self,
                                                              .deadline = deadline,
                                                              .wait = wait,
                                                              .held = held,
                                                              .may_claim =
                                                                  manner->may_claim && !hf_realtime_is_expected()};
    unsigned priority = hf_realtime_priority();
    hf_left_wait_begin(&waiter.left, self, self->critical.critical_depth, undo);
    int error;
    if (HF_LIKELY(priority == 0)) {
        error = go_on_waiting(&waiter, manner);
    } else {
        hf_realtime_join(&waiter.realtime, word, priority);
        error = go_before_others(&waiter);
        hf_realtime_leave(&waiter.realtime);
    }
    hf_left_wait_end(&waiter.left);
    return error;
}

static int wait_and_note(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                         struct hf_thread_record *self, const struct hf_deadline *deadline, enum hf_word_state held,
                         const struct manner *manner) {
    struct hf_wait wait = hf_wait_begin(self, word);
    hf_count(self, contended);
    int error = wait_until_done_or_left(word, tail, releases, self, deadline, held, manner, &wait);
    if (!error)
        hf_count_waited_acquisition(self);
    hf_note_wait(word, self, HF_STATISTICS_MUTEX, &wait, !error);
    return error;
}

static struct manner usual_manner(const struct hf_thread_record *self, const struct hf_deadline *deadline) {
    return (struct manner){.yields = hf_yields_begin(!deadline && hf_may_yield(self, 0)), .may_claim = true};
}

static struct manner of_part_of_wait(void) {
    return (struct manner){.yields = hf_yields_begin(false)};
}

int hf_flexguard_wait(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                      struct hf_thread_record *self, const struct hf_deadline *deadline, enum hf_word_state held) {
    struct manner manner = usual_manner(self, deadline);
    return wait_and_note(word, tail, releases, self, deadline, held, &manner);
}

int hf_flexguard_wait_adaptive(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                               struct hf_thread_record *self, const struct hf_deadline *deadline) {
    struct manner manner = usual_manner(self, deadline);
    manner.is_adaptive = true;
    return wait_and_note(word, tail, releases, self, deadline, HF_WORD_HELD, &manner);
}

int hf_flexguard_wait_in_slice(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                               struct hf_thread_record *self, const struct hf_deadline *deadline) {
    struct manner manner = of_part_of_wait();
    return wait_and_note(word, tail, releases, self, deadline, HF_WORD_HELD, &manner);
}

int hf_flexguard_go_on_waiting(uint32_t *word, hf_queue_tail *tail, const hf_release_count *releases,
                               struct hf_thread_record *self, const struct hf_deadline *deadline,
                               struct hf_wait *wait) {
    struct manner manner = of_part_of_wait();
    return wait_until_done_or_left(word, tail, releases, self, deadline, HF_WORD_HELD, &manner, wait);
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

struct hf_hold_end hf_flexguard_release_claimed(uint32_t *word, struct hf_thread_record *self,
                                                enum hf_word_owes *owes) {
    // Before the lock is another thread's, whose hold no mark is to reach into.
    struct hf_hold_end end = hf_hold_ends(word, self, true);
    *owes = hf_word_release_claimed(word, end.at_ticks);
    hf_critical_leave(self);
    return end;
}

// So often that all who sleep are woken in HF_DUE_NS, however many they are.
static bool is_one_to_be_woken(const uint32_t *word) {
    struct hf_heir *heir = hf_heir_of(word);
    uint32_t sleepers = hf_sleepers_on(word) + 1;
    uint32_t apart_ns = HF_DUE_NS / sleepers < HF_HEIR_NS ? HF_DUE_NS / sleepers : HF_HEIR_NS;
    uint64_t now_ns = hf_monotonic_ns();
    if (hf_ns_since(hf_load_relaxed(&heir->woken_ns), now_ns) < apart_ns)
        return false;
    hf_store_relaxed(&heir->woken_ns, now_ns);
    return true;
}

// To the heir that the owner has marked. An heir may be preempted when spinning does not pay; a real-time thread may be
// the sleeper.
static bool leaves_sleepers(const uint32_t *word) {
    if (!hf_heir_has_sleepers(word))
        return false;
    if (hf_spinning_pays() && !hf_realtime_is_expected() && !is_one_to_be_woken(word))
        return true;
    return !hf_heir_unmark(word);
}

void hf_flexguard_pay(const uint32_t *word, enum hf_word_owes owes) {
    if (owes == HF_WORD_OWES_WAKE_IF_NO_HEIR)
        owes = hf_word_owes_wake(!leaves_sleepers(word));
    hf_word_pay(word, owes);
}

void hf_flexguard_pay_and_note(uint32_t *word, struct hf_thread_record *self, enum hf_word_owes owes) {
    struct hf_hold_end end = hf_flexguard_settle(word, self, &owes);
    hf_flexguard_pay(word, owes);
    if (hf_note_release(word, self, end))
        hf_turn_look(self);
}
