// SPDX-License-Identifier: MIT OR Apache-2.0
// Which NUMA node the calling thread runs on, as the locks that group their waiters by it ask.
#pragma once

#include <cstdint>

namespace holdfast::bench {

// Where it runs now, or, while nodes are pretended, where it is said to.
std::uint32_t numa_node();

// For tests on machines with one node: threads are dealt over that many in the order in which they first ask. 0: no
// more. Not while a lock is used.
void pretend_numa_nodes(unsigned count);

} // namespace holdfast::bench
