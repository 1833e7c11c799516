// SPDX-License-Identifier: MIT OR Apache-2.0
// LevelDB's readrandom, by many at once: each reads rows that it chooses at random, and checks them.
#pragma once

#include <atomic>
#include <cstdint>
#include <fmt/core.h>
#include <string>

#include "coro/cell.hpp"
#include "coro/row_store.hpp"
#include "programs/program.hpp"

namespace holdfast::bench {

// The workload's name: one for all programs that have a part of it.
inline constexpr const char *inside_workload = "coro-leveldb-inside";

struct random_reads {
    row_store store;
    std::atomic<std::uint64_t> wrong = 0; // rows that were not what they must be

    // Throws result_wrong.
    void check(std::uint64_t reads) const {
        if (std::uint64_t none = wrong.load(); none > 0)
            throw result_wrong(fmt::format("{} of {} rows were not what was written", none, reads));
    }
};

class random_reader {
public:
    random_reader(random_reads &of, unsigned number) : of_(of), random_(number + 1) {}

    void read() {
        if (!of_.store.get(row_store::key_of(random_.next() % row_store::rows), value_))
            of_.wrong.fetch_add(1, std::memory_order_relaxed);
        reads_++;
    }
    std::uint64_t reads() const noexcept { return reads_; }

private:
    random_reads &of_;
    random_numbers random_;
    std::string value_;
    std::uint64_t reads_ = 0;
};

inline cell_options inside_defaults() {
    cell_options defaults;
    defaults.tasks = 64;
    return defaults;
}

} // namespace holdfast::bench
