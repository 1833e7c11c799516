// SPDX-License-Identifier: MIT OR Apache-2.0
// Invariants: barrier.h.
#include "lock/posix/barrier.h"

#include <limits.h>
#include <stddef.h>

#include "base/cpu_count.h"
#include "lock/wait/spin_budget.h"
#include "park/futex.h"
#include "park/timed_sleep.h"

static bool is_over(const struct hf_barrier *barrier, uint32_t round, uint32_t *rounds) {
    *rounds = hf_load_acquire(&barrier->rounds); // pairs with the release of the thread that filled the round
    return (int32_t)(*rounds - round) > 0;
}

static void wait_for_end_of(struct hf_barrier *barrier, uint32_t round) {
    // With more threads than CPUs somebody waits for the CPU on which this one would spin.
    bool spins = barrier->count <= hf_cpus_usable() && hf_spin_history_may_spin(&barrier->spin_rounds, round);
    struct hf_spin_budget budget = {.polls_left = spins ? HF_BARRIER_SPIN_BUDGET_POLLS : 0};
    uint32_t rounds;
    do {
        if (is_over(barrier, round, &rounds)) {
            if (spins)
                hf_spin_history_was_good(&barrier->spin_rounds, round);
            return;
        }
    } while (hf_spin_budget_left(&budget));
    if (spins && budget.polls_left < HF_BARRIER_SPIN_BUDGET_POLLS - 1) // not if the hint did not let it
        hf_spin_history_was_vain(&barrier->spin_rounds, round);
    hf_hint_look_again();
    while (!is_over(barrier, round, &rounds))
        hf_futex_wait(&barrier->rounds, rounds, NULL);
}

bool hf_barrier_wait(struct hf_barrier *barrier) {
    // Acquire and release: what each thread did before is visible to all that leave, by way of the last one.
    uint64_t ticket = hf_fetch_add_acq_rel(&barrier->tickets, 1);
    bool last = ticket % barrier->count == barrier->count - 1;
    if (last) {
        hf_fetch_add_release(&barrier->rounds, 1);
        hf_futex_wake(&barrier->rounds, INT_MAX);
        hf_cpus_usable(); // its CPUs are the process's, too
    } else {
        wait_for_end_of(barrier, (uint32_t)(ticket / barrier->count));
    }
    hf_fetch_add_release(&barrier->left, 1); // barrier.B3; pairs with the acquire in hf_barrier_destroy
    return last;
}

void hf_barrier_destroy(struct hf_barrier *barrier) {
    uint64_t tickets = hf_load_relaxed(&barrier->tickets);
    uint32_t of_full_rounds = (uint32_t)(tickets - tickets % barrier->count);
    while (hf_load_acquire(&barrier->left) != of_full_rounds)
        hf_timed_sleep(HF_BARRIER_SLEEP_NS);
}
