// SPDX-License-Identifier: MIT OR Apache-2.0
// rwlock.B1: read_write_batch.h.
#include "lock/posix/read_write_batch.h"

#include "base/clock.h"
#include "lock/wait/lock_history.h"
#include "lock/wait/yield_policy.h"

enum {
    HF_RW_HOT_POLLS = 1 << 14, // as long as a spin budget without renewals (lock/wait/spin_budget.h)
    HF_RW_LAST_LOOKS = 16,     // of a writer, when its slice is over: some 20 us
};

static bool may_enter(uint32_t state, enum hf_rw_use use) {
    return use == HF_RW_TO_READ ? hf_rw_has_begun(state) : hf_rw_is_free(state);
}

static bool try_to_enter(struct hf_rw_lock *lock, struct hf_thread_record *self, enum hf_rw_use use) {
    return use == HF_RW_TO_READ ? hf_rw_read_try_acquire(lock, self) == 0 : hf_rw_write_try_acquire(lock, self);
}

enum sample { SAMPLE_ACQUIRES, SAMPLE_DEFERS, SAMPLE_FAILS };

static enum sample sample_word(struct hf_rw_lock *lock, struct hf_defer *defer, struct hf_thread_record *self,
                               enum hf_rw_use use) {
    bool open = may_enter(hf_load_relaxed(&lock->state), use);
    hf_release_count count = hf_load_relaxed(&lock->releases);
    if (open && hf_defer_barges_at_once(defer, count)) {
        if (try_to_enter(lock, self, use))
            return SAMPLE_ACQUIRES;
        open = false;
    }
    uint64_t now_ns = hf_monotonic_ns();
    hf_defer_learn(defer, open, count, now_ns);
    if (!open)
        return SAMPLE_FAILS;
    if (!hf_defer_barges(defer, now_ns) &&
        hf_history_defers(hf_history_of(&lock->releases), &lock->releases, count, now_ns))
        return SAMPLE_DEFERS;
    return try_to_enter(lock, self, use) ? SAMPLE_ACQUIRES : SAMPLE_FAILS;
}

static void found_cold(struct hf_rw_lock *lock) {
    hf_store_relaxed(&lock->cold_since, hf_load_relaxed(&lock->releases));
}

// With the lock left to those who have it: whether the CPU was left to others meanwhile.
static bool yields_cpu(const struct hf_rw_lock *lock, struct hf_yields *yields, struct hf_defer *defer,
                       struct hf_wait *wait) {
    enum hf_cpu_contention contention = hf_contention_to_yield_to(yields, wait->self, &lock->releases);
    if (contention == HF_CPU_UNCONTENDED)
        return false;
    *defer = hf_yield_cpu_to(contention, &lock->releases, yields, wait);
    return true;
}

// When the slice is over: a reader, once it is counted, gets in for certain, and a writer that is to be first before
// others.
static bool goes_on_after_slice(enum hf_rw_use use, int *last_looks) {
    return use == HF_RW_TO_WRITE && (hf_spinning_pays() || (*last_looks)-- > 0);
}

static bool poll_while_hot(struct hf_rw_lock *lock, struct hf_defer defer, struct hf_thread_record *self,
                           enum hf_rw_use use, struct hf_yields *yields, struct hf_wait *wait) {
    int pauses = HF_HOT_PAUSES, last_looks = HF_RW_LAST_LOOKS;
    for (int polls = 0; defer.hot && polls < HF_RW_HOT_POLLS; polls += 1 + pauses) {
        if (hf_defer_barges(&defer, hf_monotonic_ns()) && !goes_on_after_slice(use, &last_looks))
            break;
        enum sample sample = sample_word(lock, &defer, self, use);
        if (sample == SAMPLE_ACQUIRES) {
            hf_count(self, spun);
            return true;
        }
        pauses = hf_pauses_before_next_sample(pauses, &defer);
        if (sample == SAMPLE_DEFERS && yields_cpu(lock, yields, &defer, wait))
            pauses = HF_HOT_PAUSES;
        hf_pause_between_samples(pauses);
    }
    if (!defer.hot)
        found_cold(lock);
    return false;
}

bool hf_rw_take_in_turn(struct hf_rw_lock *lock, struct hf_thread_record *self, enum hf_rw_use use,
                        const struct hf_deadline *deadline, struct hf_wait *wait) {
    struct hf_defer defer = hf_defer_begin(hf_load_relaxed(&lock->releases), hf_monotonic_ns());
    hf_pause_between_samples(HF_HOT_PAUSES);
    if (hf_load_relaxed(&lock->releases) == defer.seen) {
        found_cold(lock);
        return false;
    }
    struct hf_yields yields = hf_yields_begin(!deadline && use != HF_RW_TO_WRITE_FIRST && hf_may_yield(self, 0));
    bool entered = poll_while_hot(lock, defer, self, use, &yields, wait);
    if (yields.last_ns != 0 && (entered || use == HF_RW_TO_READ))
        hf_history_begin_turn(hf_history_of(&lock->releases), hf_monotonic_ns());
    return entered;
}
