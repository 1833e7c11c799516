// SPDX-License-Identifier: MIT OR Apache-2.0
#include "peers/numa_node.hpp"

#include <atomic>
#include <sched.h>

namespace holdfast::bench {
namespace {

std::atomic<unsigned> pretended = 0;
std::atomic<unsigned> threads_seen = 0;

} // namespace

std::uint32_t numa_node() {
    if (unsigned count = pretended.load(std::memory_order_relaxed)) {
        thread_local unsigned number = threads_seen++;
        return number % count;
    }
    unsigned cpu = 0, node = 0;
    getcpu(&cpu, &node);
    return node;
}

void pretend_numa_nodes(unsigned count) {
    pretended = count;
}

} // namespace holdfast::bench
