// SPDX-License-Identifier: MIT OR Apache-2.0
// The waits of a recording as stacks, each once, with the time that it took: the calls that led to the wait, the lock
// on top of them, and on top of that the thread that held it until it woke the waiter, and where.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/waits/recording.hpp"
#include "cli/waits/wait_profile.hpp"

namespace holdfast::cli::report {

struct stack_level {
    enum class kind { program, call, lock, holder } is = kind::call;
    std::string text;
    auto operator<=>(const stack_level &) const = default;
};

struct waiting_stack {
    std::vector<stack_level> levels; // outermost first
    std::uint64_t waits = 0;
    std::uint64_t waited_ns = 0;
};

std::vector<waiting_stack> waiting_stacks(const recording &of, const waited_things &things);

// One line for each, as flamegraph.pl and its like read them: "main;serve;lookup_in_cache;[lock] table 1234", in us.
std::string folded(const std::vector<waiting_stack> &stacks);

} // namespace holdfast::cli::report
