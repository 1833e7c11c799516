// SPDX-License-Identifier: MIT OR Apache-2.0
// B1: read_write_batch.h.
#include "lock/posix/read_write_batch.h"

#include "base/clock.h"
#include "lock/wait/lock_history.h"
#include "lock/wait/yield_policy.h"

enum {
    HF_RW_HOT_POLLS = 1 << 14, // about a millisecond
    HF_RW_LAST_LOOKS = 16,     // of a writer, when its slice is over: some 20 us
};

static bool may_enter(uint32_t state, enum hf_rw_use use) {
    return use == HF_RW_TO_READ ? hf_rw_has_begun(state) : hf_rw_is_free(state);
}

static bool try_to_enter(struct hf_rw_lock *lock, struct hf_thread_record *self, enum hf_rw_use use) {
    return use == HF_RW_TO_READ ? hf_rw_read_try_acquire(lock, self) == 0 : hf_rw_write_try_acquire(lock, self);
}

enum look { LOOK_ENTERS, LOOK_LEAVES, LOOK_FAILS };

static enum look look_at(struct hf_rw_lock *lock, struct hf_pace *pace, struct hf_thread_record *self,
                         enum hf_rw_use use) {
    bool open = may_enter(hf_load_relaxed(&lock->state), use);
    hf_release_count count = hf_load_relaxed(&lock->releases);
    if (open && hf_pace_takes_at_once(pace, count)) {
        if (try_to_enter(lock, self, use))
            return LOOK_ENTERS;
        open = false;
    }
    uint64_t now_ns = hf_monotonic_ns();
    hf_pace_learn(pace, open, count, now_ns);
    if (!open)
        return LOOK_FAILS;
    if (!hf_pace_takes(pace, now_ns) && hf_trial_leaves(hf_trial_of(&lock->releases), &lock->releases, count, now_ns))
        return LOOK_LEAVES;
    return try_to_enter(lock, self, use) ? LOOK_ENTERS : LOOK_FAILS;
}

static void found_cold(struct hf_rw_lock *lock) {
    hf_store_relaxed(&lock->cold_since, hf_load_relaxed(&lock->releases));
}

// With the lock left to those who have it: whether the CPU was left to others meanwhile.
static bool leaves_cpu(const struct hf_rw_lock *lock, struct hf_naps *naps, struct hf_pace *pace,
                       struct hf_wait *wait) {
    enum hf_cpu_company company = hf_company_to_leave_cpu_to(naps, wait->self, &lock->releases);
    if (company == HF_CPU_ALONE)
        return false;
    *pace = hf_leave_cpu_to(company, &lock->releases, naps, wait);
    return true;
}

// When the slice is over: a reader, once it is counted, gets in for certain, and a writer that is to be first before
// others.
static bool goes_on_after_slice(enum hf_rw_use use, int *last_looks) {
    return use == HF_RW_TO_WRITE && (hf_spinning_pays() || (*last_looks)-- > 0);
}

static bool poll_while_hot(struct hf_rw_lock *lock, struct hf_pace pace, struct hf_thread_record *self,
                           enum hf_rw_use use, struct hf_naps *naps, struct hf_wait *wait) {
    int rests = HF_HOT_RESTS, last_looks = HF_RW_LAST_LOOKS;
    for (int polls = 0; pace.hot && polls < HF_RW_HOT_POLLS; polls += 1 + rests) {
        if (hf_pace_takes(&pace, hf_monotonic_ns()) && !goes_on_after_slice(use, &last_looks))
            break;
        enum look look = look_at(lock, &pace, self, use);
        if (look == LOOK_ENTERS) {
            hf_count(self, spun);
            return true;
        }
        rests = hf_rests_before_next_look(rests, &pace);
        if (look == LOOK_LEAVES && leaves_cpu(lock, naps, &pace, wait))
            rests = HF_HOT_RESTS;
        hf_pause_and_rest(rests);
    }
    if (!pace.hot)
        found_cold(lock);
    return false;
}

bool hf_rw_take_in_turn(struct hf_rw_lock *lock, struct hf_thread_record *self, enum hf_rw_use use,
                        const struct hf_deadline *deadline, struct hf_wait *wait) {
    struct hf_pace pace = hf_pace_begin(hf_load_relaxed(&lock->releases), hf_monotonic_ns());
    hf_pause_and_rest(HF_HOT_RESTS);
    if (hf_load_relaxed(&lock->releases) == pace.seen) {
        found_cold(lock);
        return false;
    }
    hf_spell_visit(&self->spell, pace.window_ns);
    struct hf_naps naps = hf_naps_begin(!deadline && use != HF_RW_TO_WRITE_FIRST && hf_may_nap(self, 0));
    bool entered = poll_while_hot(lock, pace, self, use, &naps, wait);
    if (naps.last_ns != 0 && (entered || use == HF_RW_TO_READ))
        hf_trial_begin_turn(hf_trial_of(&lock->releases), hf_monotonic_ns());
    return entered;
}
