// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/system_call.h"
#include "park/deadline.h"
#include "park/timed_sleep.h"
#include "park/virtual_wait.h"

// What sandboxes allow is what glibc uses. Its locks sleep by FUTEX_WAIT, its condition variables by FUTEX_WAIT_BITSET,
// which alone takes an absolute time, for all kinds; and they wake by FUTEX_WAKE. So kinds may be refused. From then on
// all sleep as all kinds, and each wake of some is one of all.
static bool kinds_are_refused;

static bool is_refused(long result) {
    return result == -EPERM || result == -EACCES || result == -ENOSYS;
}

// Where a thread may not sleep, it polls, politely: its caller looks at the word again. Not even timed sleeps may be
// allowed.
static long sleep_instead(const struct hf_deadline *deadline) {
    enum { HF_SLEEP_INSTEAD_NS = 50 * 1000 };
    hf_timed_sleep(HF_SLEEP_INSTEAD_NS);
    hf_pause();
    return deadline && hf_deadline_has_passed(deadline) ? -ETIMEDOUT : 0;
}

static long wait_of_all_kinds(const uint32_t *word, uint32_t expected, const struct hf_deadline *deadline) {
    int operation = deadline ? FUTEX_WAIT_BITSET : FUTEX_WAIT;
    if (deadline && deadline->clock == CLOCK_REALTIME)
        operation |= FUTEX_CLOCK_REALTIME;
    long result = hf_sys_futex(word, operation | FUTEX_PRIVATE_FLAG, expected, deadline ? &deadline->at : NULL, NULL,
                               FUTEX_BITSET_MATCH_ANY);
    return HF_UNLIKELY(is_refused(result)) ? sleep_instead(deadline) : result;
}

static long wait_of_kind(const uint32_t *word, uint32_t expected, const struct hf_deadline *deadline, uint32_t kind) {
    int operation = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
    if (deadline && deadline->clock == CLOCK_REALTIME)
        operation |= FUTEX_CLOCK_REALTIME;
    if (HF_LIKELY(!hf_load_relaxed(&kinds_are_refused))) {
        long result = hf_sys_futex(word, operation, expected, deadline ? &deadline->at : NULL, NULL, kind);
        if (HF_LIKELY(!is_refused(result)))
            return result;
        hf_store_relaxed(&kinds_are_refused, true);
        // A waker looks after it has changed the word, this one sleeps only on the word as it was: one of them sees the
        // other's store.
        hf_fence_seq_cst();
    }
    return wait_of_all_kinds(word, expected, deadline);
}

int hf_futex_wait_as(const uint32_t *word, uint32_t expected, const struct hf_deadline *deadline, uint32_t kind) {
    // A wait with a deadline sleeps: the kernel ends it to the microsecond.
    if (!deadline && hf_wait_virtually(word, expected, kind))
        return 0;
    long result = kind == FUTEX_BITSET_MATCH_ANY ? wait_of_all_kinds(word, expected, deadline)
                                                 : wait_of_kind(word, expected, deadline, kind);
    // The kernel takes no time before the clock's epoch; such a deadline has passed. And it looks at the word first:
    // a caller that finds another one there each time would never learn how late it is.
    if (deadline && (result == -EINVAL || (result == -EAGAIN && hf_deadline_has_passed(deadline))))
        return ETIMEDOUT;
    return result == -ETIMEDOUT || result == -EINTR ? (int)-result : 0;
}

int hf_futex_wait(const uint32_t *word, uint32_t expected, const struct hf_deadline *deadline) {
    return hf_futex_wait_as(word, expected, deadline, FUTEX_BITSET_MATCH_ANY);
}

void hf_futex_wake_kind(const uint32_t *word, int count, uint32_t kind) {
    hf_fence_seq_cst(); // see wait_of_kind
    if (HF_LIKELY(!hf_load_relaxed(&kinds_are_refused))) {
        long result = hf_sys_futex(word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, (uint32_t)count, NULL, NULL, kind);
        if (HF_LIKELY(!is_refused(result)))
            return;
        hf_store_relaxed(&kinds_are_refused, true);
    }
    hf_futex_wake(word, INT_MAX);
}

void hf_futex_wake(const uint32_t *word, int count) {
    hf_sys_futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, (uint32_t)count, NULL, NULL, 0);
}

bool hf_futex_is_there(const uint32_t *word) {
    // Compared, and nobody moved.
    return hf_sys_futex_requeue(word, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, 0, word) != -EFAULT;
}

bool hf_futex_move(const uint32_t *from, const uint32_t *to) {
    return hf_sys_futex_requeue(from, FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG, 0, 1, to) == 1;
}
