// SPDX-License-Identifier: MIT OR Apache-2.0
#include "workloads/measurement.hpp"

namespace holdfast::sim {
namespace {

constexpr double warm_up_share = 0.25; // of the time that is measured

picoseconds ps_of(double seconds) {
    return static_cast<picoseconds>(seconds * 1e9) * ps_a_ns;
}

} // namespace

measurement::measurement(simulation &on, std::size_t threads, double seconds)
    : on_(on), seconds_(seconds), warm_(ps_of(warm_up_share * seconds)), until_(warm_ + ps_of(seconds)),
      threads_(threads) {}

void measurement::add(int thread, std::uint64_t asked_ns, std::uint64_t got_ns, std::uint64_t released_ns) {
    threads_[static_cast<std::size_t>(thread)].asked_ns = 0;
    if (on_.now() < warm_)
        return;
    threads_[static_cast<std::size_t>(thread)].held_ns += released_ns - got_ns;
    add(thread, got_ns - asked_ns);
}

void measurement::add(int thread, std::uint64_t waited_ns) {
    if (on_.now() < warm_)
        return;
    thread_figures &own = threads_[static_cast<std::size_t>(thread)];
    own.operations++;
    own.wait_ns.add(waited_ns);
}

} // namespace holdfast::sim
