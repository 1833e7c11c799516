// SPDX-License-Identifier: MIT OR Apache-2.0
// wait.P3 to P5: yield_policy.h.
#include "lock/wait/yield_policy.h"

#include "base/clock.h"
#include "hint/freshness.h"
#include "lock/wait/lock_history.h"
#include "lock/wait/turn.h"
#include "park/yield.h"

bool hf_designated_waker_sleeps(const hf_release_count *releases, uint64_t since_ns, struct hf_yields *yields,
                                struct hf_wait *wait) {
    struct hf_lock_history *history = hf_history_of(releases);
    uint64_t woken_ns = hf_monotonic_ns();
    if (!hf_yields_are_left(yields) || hf_ns_since(since_ns, woken_ns) >= HF_DESIGNATED_WAIT_NS ||
        !hf_history_lets_woken_sleep(history, releases, woken_ns))
        return false;
    hf_timed_sleep_in_wait(wait, HF_DESIGNATED_SLEEP_NS);
    uint64_t now_ns = hf_monotonic_ns();
    hf_yields_slept(yields, now_ns - woken_ns);
    hf_history_sample_after_sleep(history, releases, hf_load_relaxed(releases), now_ns);
    return true;
}

// A dead monitor has left the CPU's contention as it was: whether it lives is asked once in a turn.
static bool should_yield_to_own(const struct hf_thread_record *self, uint64_t now_ns) {
    return hf_turn_is_over(&self->turn, now_ns) && hf_hint_is_fresh();
}

enum hf_cpu_contention hf_contention_to_yield_to(const struct hf_yields *yields, const struct hf_thread_record *self,
                                                 const hf_release_count *releases) {
    if (!hf_yields_are_left(yields) || !hf_history_batches_clearly_pay(hf_history_of(releases), releases))
        return HF_CPU_UNCONTENDED;
    uint64_t now_ns = hf_monotonic_ns();
    enum hf_cpu_contention contention = hf_cpu_contention(now_ns);
    return contention == HF_CPU_OWN && !should_yield_to_own(self, now_ns) ? HF_CPU_UNCONTENDED : contention;
}

static void sleep_while_slice_lasts(const struct hf_lock_history *history, const hf_release_count *releases,
                                    struct hf_yields *yields, struct hf_wait *wait) {
    uint64_t now_ns = hf_monotonic_ns();
    hf_release_count before;
    do {
        uint64_t since_ns = now_ns;
        before = hf_load_relaxed(releases);
        hf_timed_sleep_in_wait(wait, hf_yields_next_sleep(yields));
        now_ns = hf_monotonic_ns();
        hf_yields_slept(yields, now_ns - since_ns);
    } while (hf_yields_are_left(yields) && hf_load_relaxed(releases) != before &&
             !hf_history_turn_is_over(history, now_ns));
}

struct hf_defer hf_yield_cpu_to(enum hf_cpu_contention contention, const hf_release_count *releases,
                                struct hf_yields *yields, struct hf_wait *wait) {
    if (contention == HF_CPU_FOREIGN)
        sleep_while_slice_lasts(hf_history_of(releases), releases, yields, wait);
    else
        hf_yield();
    uint64_t now_ns = hf_monotonic_ns();
    hf_turn_begin(&wait->self->turn, now_ns);
    return hf_defer_begin_after_yield(hf_load_relaxed(releases), now_ns);
}
