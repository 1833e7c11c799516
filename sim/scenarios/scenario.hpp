// SPDX-License-Identifier: MIT OR Apache-2.0
// What is tried of the locks' code: a few threads that use one object for a few times, under whatever order of
// accesses, delay of stores and behaviour of the kernel the seed brings, and what must hold of it.
#pragma once

#include <string>
#include <vector>

#include "engine/simulation.hpp"

namespace holdfast::sim {

// Drawn from the seed.
struct trial_size {
    unsigned threads;
    unsigned operations; // of each thread
};

struct scenario {
    std::string name;
    void (*add_threads)(simulation &to, const trial_size &size);
};

const std::vector<scenario> &scenarios();

// Runs the scenario once, with all that is random from the seed. Empty when all held; else what did not.
std::string try_once(const scenario &what, std::uint64_t seed);

} // namespace holdfast::sim
