// SPDX-License-Identifier: MIT OR Apache-2.0
// What a simulated workload measures, as bench/harness does: each thread's operations and waits, after a warm-up.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/simulation.hpp"
#include "harness/histogram.hpp"

namespace holdfast::sim {

// What the harness does between two readings of the clock: a call through a pointer, sums, a histogram.
constexpr double harness_ns = 13;

struct thread_figures {
    std::uint64_t operations = 0, held_ns = 0;
    std::uint64_t asked_ns = 0; // it waits since then; 0: it does not
    bench::histogram wait_ns;
};

class measurement {
public:
    measurement(simulation &on, std::size_t threads, double seconds);

    picoseconds until() const { return until_; }
    std::uint64_t end_ns() const { return clock_begin_ns + until_ / ps_a_ns; }
    double seconds() const { return seconds_; }

    // This thread begins to wait.
    void asks(int thread, std::uint64_t asked_ns) { threads_[static_cast<std::size_t>(thread)].asked_ns = asked_ns; }

    // An operation of this thread is over, which began to wait, got the lock and gave it back at these times.
    void add(int thread, std::uint64_t asked_ns, std::uint64_t got_ns, std::uint64_t released_ns);
    // One is over that waited for so long, as its workload defines it.
    void add(int thread, std::uint64_t waited_ns);

    const std::vector<thread_figures> &threads() const { return threads_; }

private:
    simulation &on_;
    double seconds_;
    picoseconds warm_, until_;
    std::vector<thread_figures> threads_;
};

} // namespace holdfast::sim
