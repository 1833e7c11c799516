// SPDX-License-Identifier: MIT OR Apache-2.0
// u-SCL for programs that call it. The lock is uscl_lock.c.
#include "holdfast/uscl.h"

#include <errno.h>

#include "lock/scl/uscl_lock.h"
#include "park/deadline.h"

_Static_assert((int)HF_USCL_SLICE_US_MAX < (int)HF_USCL_SLICE_BITS, "fits into the options, plus one");
_Static_assert(HF_USCL_INACTIVE_MS_MAX <= (UINT32_MAX >> HF_USCL_INACTIVE_SHIFT), "fits into the options");

static inline struct hf_uscl_parts parts_of(hf_uscl_t *lock) {
    return (struct hf_uscl_parts){.word = &lock->word, .slices = &lock->slices, .options = &lock->options};
}

void hf_uscl_lock(hf_uscl_t *lock) {
    hf_uscl_acquire(parts_of(lock), hf_self(), NULL);
}

int hf_uscl_clocklock(hf_uscl_t *lock, clockid_t clock, const struct timespec *at) {
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    if (HF_LIKELY(hf_deadline_is_valid(&deadline)))
        return hf_uscl_acquire(parts_of(lock), hf_self(), &deadline);
    return hf_uscl_trylock(lock) ? 0 : EINVAL;
}

bool hf_uscl_trylock(hf_uscl_t *lock) {
    return hf_uscl_try_acquire(parts_of(lock), hf_self());
}

void hf_uscl_unlock(hf_uscl_t *lock) {
    hf_uscl_release(parts_of(lock), hf_self());
}

void hf_uscl_destroy(hf_uscl_t *lock) {
    hf_uscl_give_back(parts_of(lock), hf_self());
    hf_uscl_init(lock);
}

// Others may be setting another option.
static void set_option(hf_uscl_t *lock, uint32_t bits, uint32_t value) {
    uint32_t options = hf_load_relaxed(&lock->options);
    while (!hf_cas_relaxed(&lock->options, options, (options & ~bits) | value))
        options = hf_load_relaxed(&lock->options);
}

int hf_uscl_set_slice(hf_uscl_t *lock, uint32_t slice_us) {
    if (slice_us > HF_USCL_SLICE_US_MAX)
        return EINVAL;
    set_option(lock, HF_USCL_SLICE_BITS, slice_us + 1);
    return 0;
}

int hf_uscl_set_default_slice(uint32_t slice_us) {
    if (slice_us > HF_USCL_SLICE_US_MAX)
        return EINVAL;
    hf_uscl_use_slice(slice_us);
    return 0;
}

void hf_uscl_set_work_conserving(hf_uscl_t *lock, bool work_conserving) {
    set_option(lock, HF_USCL_WORK_CONSERVING, work_conserving ? HF_USCL_WORK_CONSERVING : 0);
}

int hf_uscl_set_inactive(hf_uscl_t *lock, uint32_t inactive_ms) {
    if (inactive_ms == 0 || inactive_ms > HF_USCL_INACTIVE_MS_MAX)
        return EINVAL;
    set_option(lock, UINT32_MAX << HF_USCL_INACTIVE_SHIFT, inactive_ms << HF_USCL_INACTIVE_SHIFT);
    return 0;
}

void hf_uscl_set_class(uint32_t number) {
    hf_thread_set_class(hf_self(), number);
}
