// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int hf_futex_wait(const uint32_t *word, uint32_t expected, const struct hf_deadline *deadline) {
    int saved_errno = errno;
    // FUTEX_WAIT_BITSET and not FUTEX_WAIT: only it takes an absolute time.
    int op = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
    if (deadline && deadline->clock == CLOCK_REALTIME)
        op |= FUTEX_CLOCK_REALTIME;
    long failed = syscall(SYS_futex, word, op, expected, deadline ? &deadline->at : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    int result = failed ? errno : 0;
    errno = saved_errno;
    // The kernel takes no time before the clock's epoch; such a deadline has passed.
    if (result == EINVAL && deadline)
        return ETIMEDOUT;
    return result == ETIMEDOUT || result == EINTR ? result : 0;
}

void hf_futex_wake(const uint32_t *word, int count) {
    int saved_errno = errno;
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
    errno = saved_errno;
}
