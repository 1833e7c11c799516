// SPDX-License-Identifier: MIT OR Apache-2.0
// A barrier whose waiters spin while that pays and sleep otherwise. Its fields lie where glibc keeps its own
// (preload/barrier_layout.h).
//
// Each arrival takes a ticket; ticket / count is the round. The last one of a round adds one to `rounds`, which the
// others wait for. With more threads than `count` a round may fill up before the one before it has been said to be
// complete; then those who wait longer are let go first, and nobody is let go whose round is not full.
// `rounds` may wrap, but fewer than 2^31 of them may pass before a thread that was let go has looked (unchecked).
//
// barrier.B1  Together. Nobody leaves before all tickets of its round are taken.
// barrier.B2  Nobody stays. Each full round adds one to `rounds` and then wakes all; a waiter sleeps on the `rounds` it
//     saw.
// barrier.B3  `left` is the last touch. The destroyer waits until as many have left as had tickets of full rounds.
// Modelled in verify/lock/barrier.pml.
#ifndef HF_LOCK_POSIX_BARRIER_H
#define HF_LOCK_POSIX_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/wait/spin_history.h"

struct hf_barrier {
    uint64_t tickets; // taken so far
    uint32_t count;   // threads a round
    uint32_t shared;  // glibc's: not 0 when it is for several processes
    uint32_t rounds;  // that were full
    uint32_t left;
    struct hf_spin_history spin_rounds;
};

// Waits for the round to be full. True for one thread of each round.
bool hf_barrier_wait(struct hf_barrier *barrier);

// Waits until all have left that were let go. The memory may be freed then.
void hf_barrier_destroy(struct hf_barrier *barrier);

#endif
