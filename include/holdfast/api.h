// SPDX-License-Identifier: MIT OR Apache-2.0
// What every public header needs: how functions are exported, and the types that they take. Clocks are passed as int,
// which is what clockid_t is on Linux, since strict ISO C modes do not declare that.
#ifndef HOLDFAST_API_H
#define HOLDFAST_API_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HF_API __attribute__((visibility("default")))

#endif
