// SPDX-License-Identifier: MIT OR Apache-2.0
// What the locks of other processes have counted, read from memory that those share. It outlives them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "monitor/peer.hpp"

namespace holdfast {

// Sums over all threads of all processes that shared their counters.
struct lock_counters {
    std::uint64_t acquisitions = 0;
    std::uint64_t contended = 0;
    std::uint64_t spun = 0;
    std::uint64_t blocked = 0;
    std::uint64_t mode_switches = 0;
};

// A process's counters.
class counters_view {
public:
    // The memory behind the descriptor. What can't be trusted to stay readable counts nothing.
    explicit counters_view(int fd);
    counters_view(counters_view &&other) noexcept;
    counters_view &operator=(counters_view &&other) noexcept;
    ~counters_view();

    explicit operator bool() const { return memory_ != nullptr; }
    void add_to(lock_counters &sum) const;

private:
    const char *memory_ = nullptr;
};

// Those of many processes.
class counters_collection {
public:
    void add(counters_view counters, peer owner);
    // Adds up those of processes that have ended, and lets go of them.
    void close_ended();
    lock_counters sum() const;

private:
    struct counted_process {
        counters_view counters;
        peer owner;
    };
    void fold(const std::function<bool(const counted_process &)> &is_final);

    std::vector<counted_process> counted_;
    lock_counters of_ended_processes_;
};

} // namespace holdfast
