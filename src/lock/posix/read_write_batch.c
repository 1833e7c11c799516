// SPDX-License-Identifier: MIT OR Apache-2.0
// rwlock.B1: read_write_batch.h.
#include "lock/posix/read_write_batch.h"

#include "base/clock.h"
#include "lock/wait/next_step.h"

static bool may_enter(uint32_t state, enum hf_rw_use use) {
    return use == HF_RW_TO_READ ? hf_rw_has_begun(state) : hf_rw_is_free(state);
}

static bool try_to_enter(struct hf_rw_lock *lock, struct hf_thread_record *self, enum hf_rw_use use) {
    return use == HF_RW_TO_READ ? hf_rw_read_try_acquire(lock, self) == 0 : hf_rw_write_try_acquire(lock, self);
}

// True with the lock held and the caller critical.
static bool sample_word(struct hf_rw_lock *lock, const struct hf_wait_state *state, struct hf_thread_record *self,
                        enum hf_rw_use use, struct hf_wait_sample *sample) {
    sample->is_free = may_enter(hf_load_relaxed(&lock->state), use);
    sample->releases = hf_load_relaxed(&lock->releases);
    if (sample->is_free && hf_wait_takes_at_once(state, sample->releases)) {
        if (try_to_enter(lock, self, use))
            return true;
        sample->is_free = false;
    }
    sample->now_ns = hf_monotonic_ns();
    return false;
}

static void found_cold(struct hf_rw_lock *lock) {
    hf_store_relaxed(&lock->cold_since, hf_load_relaxed(&lock->releases));
}

// When the slice is over: a reader, once it is counted, gets in for certain, and a writer that is to be first before
// others.
static bool goes_on_after_slice(enum hf_rw_use use, int *last_looks) {
    return use == HF_RW_TO_WRITE && (hf_spinning_pays() || (*last_looks)-- > 0);
}

static bool slice_is_over(const struct hf_wait_state *state, enum hf_rw_use use, int *last_looks) {
    return hf_defer_barges(&state->defer, hf_monotonic_ns()) && !goes_on_after_slice(use, last_looks);
}

static bool poll_while_hot(struct hf_rw_lock *lock, struct hf_wait_state *state, struct hf_thread_record *self,
                           enum hf_rw_use use, struct hf_wait *wait) {
    struct hf_lock_history *history = hf_history_of(&lock->releases);
    int last_looks = HF_RW_LAST_LOOKS;
    while (state->place != HF_AT_END) {
        struct hf_wait_sample sample = {0};
        if (state->place == HF_AT_SLEEP_END) {
            hf_sample_after_sleep(&sample, self, &lock->releases);
        } else if (state->place == HF_AT_YIELD_END) {
            hf_sample_after_yield(&sample, self, &lock->releases, state->since_ns);
        } else {
            if (slice_is_over(state, use, &last_looks))
                return false;
            if (sample_word(lock, state, self, use, &sample))
                return true;
            hf_sample_cpu(&sample, self, &state->yields);
        }
        switch (hf_wait_next(state, history, &lock->releases, &sample)) {
        case HF_WAIT_TAKE:
            if (try_to_enter(lock, self, use))
                return true;
            break;
        case HF_WAIT_TIMED_SLEEP: hf_wait_timed_sleep(wait, state); continue;
        case HF_WAIT_YIELD: hf_wait_yield(); continue;
        case HF_WAIT_SAMPLE: continue;
        default: break; // HF_WAIT_PAUSE: there is no queue here, and nothing to be announced
        }
        hf_pause_between_samples(state->pauses);
    }
    if (!state->defer.hot)
        found_cold(lock);
    return false;
}

bool hf_rw_take_in_turn(struct hf_rw_lock *lock, struct hf_thread_record *self, enum hf_rw_use use,
                        const struct hf_deadline *deadline, struct hf_wait *wait) {
    uint64_t now_ns = hf_monotonic_ns();
    hf_release_count releases = hf_load_relaxed(&lock->releases);
    struct hf_wait_state state = hf_wait_state_begin_hot(releases, now_ns);
    hf_pause_between_samples(state.pauses);
    if (hf_load_relaxed(&lock->releases) == releases) {
        found_cold(lock);
        return false;
    }
    state.yields = hf_yields_begin(!deadline && use != HF_RW_TO_WRITE_FIRST && hf_may_yield(self, 0));
    bool entered = poll_while_hot(lock, &state, self, use, wait);
    if (entered)
        hf_count(self, spun);
    if (state.yields.last_ns != 0 && (entered || use == HF_RW_TO_READ))
        hf_history_begin_turn(hf_history_of(&lock->releases), hf_monotonic_ns());
    return entered;
}
