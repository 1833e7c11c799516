// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory nodes (NUMA): which CPUs are whose, how far it is from one to another, and whom a worker steals from first.
#pragma once

#include <cstddef>
#include <filesystem>
#include <sched.h>
#include <vector>

namespace holdfast::coro {

struct memory_node {
    std::vector<unsigned> cpus;      // usable ones
    std::vector<unsigned> distances; // to each node of the map; the kernel's units: 10 is the node itself
};

class node_map {
public:
    // From the kernel's directory; nodes without a usable CPU are left out. Where it can't be read: no nodes.
    static node_map read(const cpu_set_t &usable, const std::filesystem::path &directory = "/sys/devices/system/node");

    [[nodiscard]] const std::vector<memory_node> &nodes() const noexcept { return nodes_; }

    // The node of each worker: as many a node as it has CPUs, and again. Empty where that is no gain: with one node, or
    // with fewer workers than CPUs, which the kernel places better.
    [[nodiscard]] std::vector<std::size_t> homes(std::size_t workers) const;

    // The workers that `me` steals from: those of the nearest node first, of one distance from the next number on, so
    // that not all begin with the same. Without homes: all by number.
    [[nodiscard]] std::vector<std::size_t> victims(std::size_t me, std::size_t workers,
                                                   const std::vector<std::size_t> &homes) const;

private:
    std::vector<memory_node> nodes_;
};

} // namespace holdfast::coro
