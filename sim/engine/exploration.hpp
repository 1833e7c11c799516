// SPDX-License-Identifier: MIT OR Apache-2.0
// Which thread runs next, when the code is tried and not measured: asked before each access to shared memory.
//
// - at random: mostly the one that runs goes on; now and then another does;
// - by priorities (PCT: Burckhardt and others, ASPLOS '10): always the highest of those that can run, which loses its
//   priority at a few steps that are drawn beforehand. A bug that takes d steps in a certain order is found with a
//   probability of at least one in n k^(d-1), for n threads and k steps. A thread that polls loses its priority,
//   too, since the one it waits for would never run.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/random.hpp"

namespace holdfast::sim {

struct exploration {
    bool by_priorities = false;
    unsigned switches_one_in = 8;     // of steps, at random
    unsigned change_points = 3;       // of priorities
    std::uint64_t steps_expected = 0; // where they are drawn from
    // More of them: nobody gets on. A waiter whose hand-over is lost may spend 66 budgets of 2^14 polls (queue.I5,
    // lock/wait/spin_budget.h), each of a dozen accesses.
    std::uint64_t steps_max = 40000000;
    unsigned store_delay_steps = 0; // at most, until others see a store; 0: at once
    unsigned stalls_one_in = 8;     // calls of the kernel that others overtake, each by so many steps
    unsigned stall_steps = 1000;    // at most
    unsigned slice_steps = 2000;    // at most, until a thread is preempted where others wait for its CPU
    unsigned spurious_one_in = 64;  // sleeps that end for no reason; 0: none
    unsigned late_one_in = 32;      // wakes that come late; 0: none
};

} // namespace holdfast::sim
