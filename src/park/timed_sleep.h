// SPDX-License-Identifier: MIT OR Apache-2.0
// A timed sleep: a short one that nobody ends, for waiters whom nobody wakes.
#ifndef HF_PARK_TIMED_SLEEP_H
#define HF_PARK_TIMED_SLEEP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Sleeps some `ns` nanoseconds, less after a signal. Below a second. No cancellation point; errno stays as it was.
void hf_timed_sleep(uint32_t ns);

#ifdef __cplusplus
}
#endif

#endif
