// SPDX-License-Identifier: MIT OR Apache-2.0
// A barrier whose waiters spin while that pays and sleep otherwise. Its words are those of glibc's barriers since 2.25,
// and mean the same, so that threads which reach glibc's functions past ours meet ours at one barrier (deepbind.c).
//
// Each arrival has a number, from 1 on, and those up to `let_go`, a multiple of `count`, may leave. With more threads
// than `count` several rounds may be under way: a thread that finds that its number fills one ends all that are full.
//
//     arrives: in + 1, which is its number --> some round is full by then: let_go = the last such number, wakes all
//                    |                                          |
//                    +--> polls, sleeps --- number <= let_go ---+--> leaves: out + 1
//
// Numbers end at the last multiple of `count` below 2^31. A thread that comes later waits until `in` is 0: the last to
// leave of those before begins anew. let_go and out become 0, then `in` does, and those that wait for that are woken.
//
// barrier.B1  Together. Nobody leaves before all of its round have arrived.
// barrier.B2  Nobody stays. Each full round moves `let_go`, and the thread that moves it wakes all; a waiter sleeps on
//     the `let_go` that it saw.
// barrier.B3  `out` is the last touch; of the thread that begins anew `in` is. The destroyer makes `out` what it would
//     be at the last number; are others still to leave, the last of them begins anew, and it waits for that.
// Modelled in verify/lock/barrier.pml.
#ifndef HF_LOCK_POSIX_BARRIER_H
#define HF_LOCK_POSIX_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/wait/spin_history.h"

struct hf_barrier {
    uint32_t in; // arrivals
    uint32_t let_go;
    uint32_t count;  // threads a round
    uint32_t shared; // glibc's: not 0 when it is for several processes
    uint32_t out;    // how many have left
    uint32_t unused;
    struct hf_spin_history spin_rounds;
};

// Waits for the round to be full. True for one thread of each round.
bool hf_barrier_wait(struct hf_barrier *barrier);

// Waits until all have left that were let go. The memory may be freed then.
void hf_barrier_destroy(struct hf_barrier *barrier);

#endif
