// SPDX-License-Identifier: MIT OR Apache-2.0
// Invariants: barrier.h.
#include "lock/posix/barrier.h"

#include <limits.h>
#include <stddef.h>

#include "base/cpu_count.h"
#include "lock/wait/spin_budget.h"
#include "park/futex.h"

static uint32_t last_number(const struct hf_barrier *barrier) {
    return INT32_MAX - INT32_MAX % barrier->count;
}

// Of a word that only grows, or becomes 0.
static void sleep_while_above(uint32_t *word, uint32_t limit) {
    uint32_t now;
    while ((now = hf_load_acquire(word)) > limit)
        hf_futex_wait(word, now, NULL);
}

// Acquire and release: what each thread did before is visible to all that leave, by way of the one that ends the
// round.
static uint32_t arrive(struct hf_barrier *barrier) {
    for (;;) {
        uint32_t number = hf_fetch_add_acq_rel(&barrier->in, 1) + 1;
        if (HF_LIKELY(number <= last_number(barrier)))
            return number;
        sleep_while_above(&barrier->in, last_number(barrier));
    }
}

// Whether the caller's number was let go.
static bool end_full_rounds(struct hf_barrier *barrier, uint32_t number) {
    uint32_t full = number - number % barrier->count, let_go = hf_load_acquire(&barrier->let_go);
    while (let_go < full) {
        if (!hf_cas_release(&barrier->let_go, let_go, full)) {
            let_go = hf_load_acquire(&barrier->let_go);
            continue;
        }
        hf_futex_wake(&barrier->let_go, INT_MAX);
        hf_cpus_usable(); // its CPUs are the process's, too
        let_go = full;
    }
    return number <= let_go;
}

static bool may_leave(const struct hf_barrier *barrier, uint32_t number, uint32_t *let_go) {
    *let_go = hf_load_acquire(&barrier->let_go); // pairs with the release of the thread that has ended the round
    return number <= *let_go;
}

static void wait_until_let_go(struct hf_barrier *barrier, uint32_t number) {
    uint32_t round = number / barrier->count, let_go;
    // With more threads than CPUs somebody waits for the CPU on which this one would spin; nor is a monitor asked for.
    bool may_ever_spin = barrier->count <= hf_cpus_usable();
    bool spins = may_ever_spin && hf_spin_history_may_spin(&barrier->spin_rounds, round);
    struct hf_spin_budget budget = {.polls_left = spins ? HF_BARRIER_SPIN_BUDGET_POLLS : 0};
    do {
        if (may_leave(barrier, number, &let_go)) {
            if (spins)
                hf_spin_history_was_good(&barrier->spin_rounds, round);
            return;
        }
    } while (hf_spin_budget_left(&budget));
    if (spins && budget.polls_left < HF_BARRIER_SPIN_BUDGET_POLLS - 1) // not if the hint did not let it
        hf_spin_history_was_vain(&barrier->spin_rounds, round);
    if (may_ever_spin)
        hf_hint_look_again();
    while (!may_leave(barrier, number, &let_go))
        hf_futex_wait(&barrier->let_go, let_go, NULL);
}

// All that arrived before have left, and a thread that comes now waits for `in`.
static void begin_anew(struct hf_barrier *barrier) {
    hf_store_relaxed(&barrier->let_go, 0);
    hf_store_relaxed(&barrier->out, 0);
    hf_store_release(&barrier->in, 0); // pairs with the acquires in arrive and hf_barrier_destroy
    hf_futex_wake(&barrier->in, INT_MAX);
}

bool hf_barrier_wait(struct hf_barrier *barrier) {
    uint32_t number = arrive(barrier), count = barrier->count, last = last_number(barrier);
    if (!end_full_rounds(barrier, number))
        wait_until_let_go(barrier, number);
    // barrier.B3. Release: all that the caller did here comes before the barrier begins anew, or its memory goes.
    // Acquire: a thread that begins anew does so after all that the others did.
    if (hf_fetch_add_acq_rel(&barrier->out, 1) + 1 == last)
        begin_anew(barrier);
    return number % count == 0;
}

void hf_barrier_destroy(struct hf_barrier *barrier) {
    uint32_t in = hf_load_relaxed(&barrier->in), last = last_number(barrier);
    // At the last number somebody begins anew anyway, and may be about to when `out` is that already.
    if (in == last || hf_fetch_add_acq_rel(&barrier->out, last - in) < in)
        sleep_while_above(&barrier->in, 0);
}
