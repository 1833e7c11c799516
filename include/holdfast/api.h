// SPDX-License-Identifier: MIT OR Apache-2.0
// What every public header needs: how functions are exported, and the types that they take.
#ifndef HOLDFAST_API_H
#define HOLDFAST_API_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HF_API __attribute__((visibility("default")))

#endif
