// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/virtual_wait.h"

#include <stdlib.h>
#include <string.h>

#include "park/park_call.h"
#include "park/yield.h"

// A call that comes back with the word as it was has cost a system call for nothing: there is no scheduler (any more),
// it thinks that each waiter can have a CPU of its own, or the lock was taken by another one meanwhile. Then so many
// waits sleep by futex(2) at once, twice as many each time.
enum { HF_SKIPPED_MOST = 1024 };

static __thread struct {
    uint16_t skips_left, skips;
} vain __attribute__((tls_model("initial-exec")));

bool hf_may_wait_virtually __attribute__((visibility("hidden")));

// secure_getenv: a set-user-id program is not told by its caller how to wait.
__attribute__((constructor)) static void look_for_scheduler(void) {
    const char *told = secure_getenv(HF_OVERSUB_VARIABLE);
    hf_store_relaxed(&hf_may_wait_virtually, told && strcmp(told, "1") == 0);
}

static int64_t record_offset; // 0: not known yet

void hf_tell_scheduler_of_record(int64_t offset) {
    hf_store_relaxed(&record_offset, offset);
    if (hf_load_relaxed(&hf_may_wait_virtually))
        hf_yield_with(0, 0, HF_PARK_MAGIC, (uint64_t)offset);
}

bool hf_wait_virtually_for(const uint32_t *word, uint32_t expected, uint32_t kinds) {
    if (vain.skips_left > 0) {
        vain.skips_left--;
        return false;
    }
    if (!hf_yield_with((uintptr_t)word, (uint64_t)kinds << 32 | expected, HF_PARK_MAGIC,
                       (uint64_t)hf_load_relaxed(&record_offset)))
        return false;
    if (hf_load_acquire(word) != expected) {
        vain.skips = 0;
        return true;
    }
    vain.skips = vain.skips == 0 ? 1 : vain.skips < HF_SKIPPED_MOST ? (uint16_t)(2 * vain.skips) : HF_SKIPPED_MOST;
    vain.skips_left = vain.skips;
    return false;
}
