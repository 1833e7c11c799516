// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/cpu_count.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/system_call.h"

enum {
    HF_MASK_WORDS = 128,      // 8,192 CPUs, the most that Linux is built for
    HF_QUESTIONS_A_LOOK = 64, // at the clock
    HF_WINDOW_NS = 1000000000,
};

static struct {
    unsigned known;
    uint32_t window;                 // counts the seconds
    uint64_t ends_ns;                // when this one does
    uint64_t seen[2][HF_MASK_WORDS]; // in this second, by its last bit; the other one is being cleared, or clear
    bool forgone;
} cpus = {.window = 1};

static unsigned count(const uint64_t *mask) {
    unsigned count = 0;
    for (int word = 0; word < HF_MASK_WORDS; word++)
        count += (unsigned)__builtin_popcountll(hf_load_relaxed(&mask[word]));
    return count;
}

// Where the kernel does not tell: one, on which nobody polls for what another thread is to do.
static __attribute__((noinline, cold)) void add_own_to(uint64_t *seen) {
    uint64_t own[HF_MASK_WORDS] = {0};
    if (hf_sys_sched_getaffinity(0, sizeof(own), own) <= 0) {
        if (hf_load_relaxed(&cpus.known) == 0)
            hf_store_relaxed(&cpus.known, 1);
        hf_cpus_forgo();
        return;
    }
    for (int word = 0; word < HF_MASK_WORDS; word++) {
        if (own[word] & ~hf_load_relaxed(&seen[word]))
            hf_fetch_or_relaxed(&seen[word], own[word]);
    }
    unsigned all = count(seen);
    if (all > hf_load_relaxed(&cpus.known))
        hf_store_relaxed(&cpus.known, all);
}

// One thread ends it. A thread that adds to it all the same, having seen it before, is too late for one second.
static __attribute__((noinline, cold)) void end_window_if_over(void) {
    uint64_t now_ns = hf_monotonic_ns(), ends_ns = hf_load_relaxed(&cpus.ends_ns);
    if (now_ns < ends_ns || !hf_cas_acquire(&cpus.ends_ns, ends_ns, now_ns + HF_WINDOW_NS))
        return;
    uint32_t window = hf_load_relaxed(&cpus.window);
    unsigned all = count(cpus.seen[window % 2]);
    if (all > 0)
        hf_store_relaxed(&cpus.known, all);
    uint64_t *next = cpus.seen[(window + 1) % 2];
    for (int word = 0; word < HF_MASK_WORDS; word++)
        hf_store_relaxed(&next[word], 0);
    hf_store_release(&cpus.window, window + 1); // pairs with the acquire of the thread that adds to the next one
}

__attribute__((constructor)) static void count_at_start(void) {
    hf_store_relaxed(&cpus.ends_ns, hf_monotonic_ns() + HF_WINDOW_NS);
    hf_cpus_usable();
}

unsigned hf_cpus_usable(void) {
    static __thread struct {
        uint32_t window, questions;
    } own __attribute__((tls_model("initial-exec")));
    uint32_t window = hf_load_acquire(&cpus.window);
    if (HF_UNLIKELY(own.window != window)) {
        own.window = window;
        if (!hf_load_relaxed(&cpus.forgone))
            add_own_to(cpus.seen[window % 2]);
    } else if (++own.questions % HF_QUESTIONS_A_LOOK == 0 && !hf_load_relaxed(&cpus.forgone)) {
        end_window_if_over();
    }
    return hf_load_relaxed(&cpus.known);
}

void hf_cpus_forgo(void) {
    hf_store_relaxed(&cpus.forgone, true);
}
