// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/nap.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Not nanosleep(), which is a cancellation point.
void hf_nap(uint32_t ns) {
    int saved_errno = errno;
    struct timespec length = {.tv_nsec = ns};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &length, NULL);
    errno = saved_errno;
}
