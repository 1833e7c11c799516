// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/wait/next_step.h"

static enum hf_wait_step sample_at(struct hf_wait_state *state, enum hf_wait_place place) {
    state->place = place;
    return HF_WAIT_SAMPLE;
}

static enum hf_wait_step pause_at(struct hf_wait_state *state, enum hf_wait_place place, int pauses) {
    state->place = place;
    state->pauses = pauses;
    return HF_WAIT_PAUSE;
}

static enum hf_wait_step timed_sleep(struct hf_wait_state *state, enum hf_wait_place end, uint32_t sleep_ns,
                                     const struct hf_wait_sample *sample) {
    state->place = end;
    state->sleep_ns = sleep_ns;
    state->since_ns = sample->now_ns;
    return HF_WAIT_TIMED_SLEEP;
}

// A thread that works defers to nobody (wait.P7).
static struct hf_defer begin_to_defer(const struct hf_wait_state *state, const struct hf_wait_sample *sample) {
    uint32_t slice_ns = hf_defer_slice(hf_ns_since(state->began_ns, sample->now_ns));
    return hf_defer_begin(sample->releases, sample->now_ns, state->has_work ? 0 : slice_ns);
}

// Its user says that sections are shorter than a sleep (PTHREAD_MUTEX_ADAPTIVE_NP), as of a slow lock nobody else does.
static enum hf_wait_step sample_before_sleep(struct hf_wait_state *state) {
    return sample_at(state, state->is_adaptive && !state->yields.limited ? HF_AT_ADAPTIVE : HF_AT_END);
}

// A round of the hot lock is over, but for its step and its pauses.
static enum hf_wait_step poll_hot(struct hf_wait_state *state, enum hf_wait_step step) {
    state->polls += 1 + state->pauses;
    state->place = state->defer.hot && state->polls < HF_SPIN_BUDGET_POLLS ? HF_AT_HOT : HF_AT_END;
    return step;
}

static enum hf_wait_step poll_hot_after_yield(struct hf_wait_state *state, const struct hf_wait_sample *sample) {
    hf_defer_after_yield(&state->defer, sample->turns_end, sample->releases, sample->now_ns);
    state->pauses = HF_HOT_PAUSES;
    return poll_hot(state, HF_WAIT_PAUSE);
}

// defer_policy.h. TAKE, ANNOUNCE, or PAUSE; the latter, too, where the waiter defers.
static enum hf_wait_step poll_word(struct hf_wait_state *state, struct hf_lock_history *history, const void *lock,
                                   const struct hf_wait_sample *sample, bool *defers) {
    struct hf_defer *defer = &state->defer;
    hf_release_count releases = sample->releases;
    uint64_t now_ns = sample->now_ns;
    hf_defer_learn(defer, sample->is_free, releases, now_ns);
    defer->batches = !state->defers_to_hot_alone && !defer->hot &&
                     hf_history_defers_unhot(history, lock, releases, now_ns) &&
                     hf_defer_has_time_for_batches(defer, now_ns);
    bool announces = !state->defers_to_hot_alone && !sample->is_free && hf_defer_announces(defer, releases, now_ns);
    *defers = sample->is_free && !hf_defer_barges(defer, now_ns) &&
              (defer->batches || hf_history_defers(history, lock, releases, now_ns));
    state->pauses = hf_pauses_before_next_sample(state->pauses, defer);
    if (sample->is_free)
        return *defers ? HF_WAIT_PAUSE : HF_WAIT_TAKE;
    return announces ? HF_WAIT_ANNOUNCE : HF_WAIT_PAUSE;
}

static enum hf_wait_step next_at_hot(struct hf_wait_state *state, struct hf_lock_history *history, const void *lock,
                                     const struct hf_wait_sample *sample) {
    bool defers;
    enum hf_wait_step step = poll_word(state, history, lock, sample, &defers);
    // Waiters of a lock that is taken for hot before it is known would yield for each of a slow lock's sections.
    if (step != HF_WAIT_PAUSE || !state->defer.found_hot || !hf_yields_are_left(&state->yields))
        return poll_hot(state, step);
    state->releases = sample->releases;
    if ((sample->cpu == HF_CPU_FOREIGN || state->yields.limited) && hf_history_batches_clearly_pay(history, lock))
        return timed_sleep(state, HF_AT_SLEEP_END, hf_yields_next_sleep(&state->yields), sample);
    if (sample->cpu != HF_CPU_OWN)
        return poll_hot(state, step);
    state->place = HF_AT_YIELD_END;
    state->since_ns = sample->now_ns;
    return HF_WAIT_YIELD;
}

static enum hf_wait_step next_at_sleep_end(struct hf_wait_state *state, const struct hf_lock_history *history,
                                           const struct hf_wait_sample *sample) {
    hf_yields_slept(&state->yields, sample->now_ns - state->since_ns);
    if (hf_yields_are_left(&state->yields) && sample->releases != state->releases &&
        !hf_history_turn_is_over(history, sample->now_ns)) {
        state->releases = sample->releases;
        return timed_sleep(state, HF_AT_SLEEP_END, hf_yields_next_sleep(&state->yields), sample);
    }
    return poll_hot_after_yield(state, sample);
}

// wait.P5.
static enum hf_wait_step next_of_woken(struct hf_wait_state *state, const struct hf_lock_history *history,
                                       const void *lock, const struct hf_wait_sample *sample) {
    if (!sample->turns_end && hf_yields_are_left(&state->yields) &&
        hf_ns_since(state->since_ns, sample->now_ns) < HF_DESIGNATED_WAIT_NS &&
        hf_history_lets_woken_sleep(history, lock, sample->now_ns))
        return timed_sleep(state, HF_AT_DESIGNATED_SLEEP_END, HF_DESIGNATED_SLEEP_NS, sample);
    return sample_at(state, HF_AT_BEGIN);
}

// wait.P6. A fair lock would have been the waiter's by now if it has been released as often as there are threads.
static bool is_overdue(const struct hf_wait_state *state, const struct hf_wait_sample *sample) {
    return sample->threads != 0 && hf_ns_since(state->began_ns, sample->now_ns) >= HF_CLAIM_NS &&
           (hf_release_count)(sample->releases - state->seen) >= sample->threads;
}

enum hf_wait_step hf_wait_next(struct hf_wait_state *state, struct hf_lock_history *history, const void *lock,
                               const struct hf_wait_sample *sample) {
    bool defers;
    if (is_overdue(state, sample))
        return HF_WAIT_CLAIM;
    switch (state->place) {
    case HF_AT_BEGIN:
        if (!sample->spins)
            return sample_at(state, HF_AT_LOCK);
        pause_at(state, HF_AT_QUEUE, 0);
        return HF_WAIT_ENTER;
    case HF_AT_QUEUE:
    case HF_AT_HEAD:
        if (!sample->spins) {
            state->place = HF_AT_LOCK;
            return HF_WAIT_LEAVE;
        }
        if (state->place == HF_AT_HEAD)
            return poll_word(state, history, lock, sample, &defers);
        if (!sample->is_head)
            return HF_WAIT_PAUSE;
        state->defer = begin_to_defer(state, sample);
        return pause_at(state, HF_AT_HEAD, 0);
    case HF_AT_LOCK:
        state->defer = begin_to_defer(state, sample);
        state->polls = 0;
        if (!hf_history_may_find_it_hot(history, lock, sample->releases, sample->now_ns, !sample->in_storm))
            return hf_history_knows_slow(history, lock) ? sample_before_sleep(state) : sample_at(state, HF_AT_END);
        return pause_at(state, HF_AT_SECOND_SAMPLE, HF_HOT_PAUSES);
    case HF_AT_SECOND_SAMPLE:
        return sample->releases != state->defer.seen ? sample_at(state, HF_AT_HOT) : sample_before_sleep(state);
    case HF_AT_ADAPTIVE:
        pause_at(state, ++state->polls < HF_ADAPTIVE_POLLS ? HF_AT_ADAPTIVE : HF_AT_END, 1);
        return sample->is_free ? HF_WAIT_TAKE : HF_WAIT_PAUSE;
    case HF_AT_HOT: return next_at_hot(state, history, lock, sample);
    case HF_AT_SLEEP_END: return next_at_sleep_end(state, history, sample);
    case HF_AT_YIELD_END:
        hf_yields_slept(&state->yields, sample->now_ns - state->since_ns);
        return poll_hot_after_yield(state, sample);
    case HF_AT_END:
        state->place = HF_AT_WOKEN;
        state->is_adaptive = false;
        return HF_WAIT_BLOCK;
    case HF_AT_WOKEN: return next_of_woken(state, history, lock, sample);
    case HF_AT_DESIGNATED_SLEEP_END:
        hf_yields_slept(&state->yields, sample->now_ns - state->since_ns);
        hf_history_sample_after_sleep(history, lock, sample->releases, sample->now_ns);
        state->since_ns = 0;
        return sample_at(state, HF_AT_DESIGNATED);
    case HF_AT_DESIGNATED:
        if (!sample->spins)
            return sample_at(state, HF_AT_BEGIN);
        pause_at(state, HF_AT_DESIGNATED, 0);
        return sample->is_free ? HF_WAIT_TAKE : HF_WAIT_PAUSE;
    }
    return HF_WAIT_BLOCK; // there is no other place
}
