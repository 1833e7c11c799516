// SPDX-License-Identifier: MIT OR Apache-2.0
// Stores that other CPUs do not see yet: total store order (TSO), as x86 has it. Each CPU's become visible in their
// order, after some time, and at once where it has a fence: at its next read-modify-write, at a context switch, when it
// is interrupted (membarrier).
//
// Memory has what the CPU itself sees. Until its store is visible what others see of the word is kept here, and changed
// here by their read-modify-writes, which the store then overwrites: as on a real machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>

#include "engine/duration.hpp"
#include "engine/lines.hpp"

namespace holdfast::sim {

struct pending_store {
    const volatile void *word;
    line *of;
    picoseconds visible_at;
    std::uint64_t seen_by_others; // the word's bytes, first ones first
};

class store_buffer {
public:
    bool empty() const { return stores_.empty(); }

    // Returns when it becomes visible: not before older ones.
    picoseconds add(volatile void *word, std::size_t bytes, line &of, picoseconds visible_at) {
        if (stores_.size() == entries)
            show_first();
        if (!stores_.empty())
            visible_at = std::max(visible_at, stores_.back().visible_at);
        std::uint64_t before = 0;
        std::memcpy(&before, const_cast<const void *>(word), bytes);
        stores_.push_back({word, &of, visible_at, before});
        of.pending_stores++;
        return visible_at;
    }

    void show_until(picoseconds now) {
        while (!stores_.empty() && stores_.front().visible_at <= now)
            show_first();
    }

    void show_all() { show_until(never); }

    // What others see of the word; null where that is memory. (The first of several stores to it has it.)
    void *seen_by_others(const volatile void *word) {
        auto found = std::find_if(stores_.begin(), stores_.end(), [&](const auto &one) { return one.word == word; });
        return found == stores_.end() ? nullptr : &found->seen_by_others;
    }

private:
    static constexpr std::size_t entries = 56; // Skylake's: uops.info
    void show_first() {
        stores_.front().of->pending_stores--;
        stores_.pop_front();
    }
    std::deque<pending_store> stores_;
};

} // namespace holdfast::sim
