// SPDX-License-Identifier: MIT OR Apache-2.0
// P3 to P5: yield_policy.h.
#include "lock/wait/yield_policy.h"

#include "base/clock.h"
#include "lock/wait/lock_history.h"

bool hf_stands_by(const hf_release_count *releases, uint64_t since_ns, struct hf_naps *naps, struct hf_wait *wait) {
    struct hf_trial *trial = hf_trial_of(releases);
    uint64_t woken_ns = hf_monotonic_ns();
    if (!hf_naps_are_left(naps) || hf_ns_since(since_ns, woken_ns) >= HF_STAND_BY_WAIT_NS ||
        !hf_trial_lets_woken_nap(trial, releases, woken_ns))
        return false;
    hf_nap_in_wait(wait, HF_STAND_BY_NS);
    uint64_t now_ns = hf_monotonic_ns();
    hf_naps_ended(naps, now_ns - woken_ns);
    hf_trial_look_after_nap(trial, releases, hf_load_relaxed(releases), now_ns);
    return true;
}

// A monitor that has died has left the CPU's company as it was: asked once in a spell, whether it is still there.
static bool should_step_aside(const struct hf_thread_record *self, uint64_t now_ns) {
    return hf_spell_is_over(&self->spell, now_ns) && hf_hint_is_fresh();
}

enum hf_cpu_company hf_company_to_leave_cpu_to(const struct hf_naps *naps, const struct hf_thread_record *self,
                                               const hf_release_count *releases) {
    if (!hf_naps_are_left(naps) || !hf_trial_batches_clearly_pay(hf_trial_of(releases), releases))
        return HF_CPU_ALONE;
    uint64_t now_ns = hf_monotonic_ns();
    enum hf_cpu_company company = hf_cpu_company(now_ns);
    return company == HF_CPU_OWN && !should_step_aside(self, now_ns) ? HF_CPU_ALONE : company;
}

static void nap_while_it_is_not_our_turn(const struct hf_trial *trial, const hf_release_count *releases,
                                         struct hf_naps *naps, struct hf_wait *wait) {
    uint64_t now_ns = hf_monotonic_ns();
    hf_release_count before;
    do {
        uint64_t since_ns = now_ns;
        before = hf_load_relaxed(releases);
        hf_nap_in_wait(wait, hf_naps_next(naps));
        now_ns = hf_monotonic_ns();
        hf_naps_ended(naps, now_ns - since_ns);
    } while (hf_naps_are_left(naps) && hf_load_relaxed(releases) != before && !hf_trial_turn_is_over(trial, now_ns));
}

struct hf_pace hf_leave_cpu_to(enum hf_cpu_company company, const hf_release_count *releases, struct hf_naps *naps,
                               struct hf_wait *wait) {
    if (company == HF_CPU_FOREIGN)
        nap_while_it_is_not_our_turn(hf_trial_of(releases), releases, naps, wait);
    else
        hf_nap_in_wait(wait, HF_STEP_ASIDE_NS);
    uint64_t now_ns = hf_monotonic_ns();
    hf_spell_begin(&wait->self->spell, now_ns);
    return hf_pace_begin_after_slice(hf_load_relaxed(releases), now_ns);
}
