// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/timed_sleep.h"

#include <time.h>

#include "base/system_call.h"

void hf_timed_sleep(uint32_t ns) {
    struct timespec length = {.tv_nsec = ns};
    hf_sys_clock_nanosleep(CLOCK_MONOTONIC, 0, &length);
}
