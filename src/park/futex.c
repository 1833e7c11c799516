// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "park/deadline.h"

int hf_futex_wait_as(const uint32_t *word, uint32_t expected, const struct hf_deadline *deadline, uint32_t kind) {
    int saved_errno = errno;
    // FUTEX_WAIT_BITSET and not FUTEX_WAIT: only it takes an absolute time.
    int op = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
    if (deadline && deadline->clock == CLOCK_REALTIME)
        op |= FUTEX_CLOCK_REALTIME;
    long failed = syscall(SYS_futex, word, op, expected, deadline ? &deadline->at : NULL, NULL, kind);
    int result = failed ? errno : 0;
    errno = saved_errno;
    // The kernel takes no time before the clock's epoch; such a deadline has passed. And it looks at the word first:
    // who finds another one there each time would never learn how late it is.
    if (deadline && (result == EINVAL || (result == EAGAIN && hf_deadline_has_passed(deadline))))
        return ETIMEDOUT;
    return result == ETIMEDOUT || result == EINTR ? result : 0;
}

int hf_futex_wait(const uint32_t *word, uint32_t expected, const struct hf_deadline *deadline) {
    return hf_futex_wait_as(word, expected, deadline, FUTEX_BITSET_MATCH_ANY);
}

void hf_futex_wake_kind(const uint32_t *word, int count, uint32_t kind) {
    int saved_errno = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, count, NULL, NULL, kind);
    errno = saved_errno;
}

void hf_futex_wake(const uint32_t *word, int count) {
    hf_futex_wake_kind(word, count, FUTEX_BITSET_MATCH_ANY);
}

void hf_futex_move(const uint32_t *from, const uint32_t *to) {
    int saved_errno = errno;
    syscall(SYS_futex, from, FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG, 0, 1, to, 0);
    errno = saved_errno;
}
