// SPDX-License-Identifier: MIT OR Apache-2.0
// Workers that have nothing to run: how many look for something, and how many have gone to sleep.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::coro {

// How many search and how many sleep, in one word. Advice: what is safe does not rest on it being exact.
class idle_counts {
public:
    void begin_search() noexcept { word_.fetch_add(searcher, std::memory_order_seq_cst); }
    // True when nobody else searches.
    bool end_search() noexcept {
        return (word_.fetch_sub(searcher, std::memory_order_seq_cst) & searchers_mask) == searcher;
    }
    void search_to_sleep() noexcept { word_.fetch_add(sleeper - searcher, std::memory_order_seq_cst); }
    void sleep_to_search() noexcept { word_.fetch_sub(sleeper - searcher, std::memory_order_seq_cst); }

    bool nobody_searches_and_some_sleep() const noexcept {
        std::uint32_t now = word_.load(std::memory_order_seq_cst);
        return now >= sleeper && (now & searchers_mask) == 0;
    }
    unsigned searchers() const noexcept { return word_.load(std::memory_order_relaxed) & searchers_mask; }
    unsigned sleepers() const noexcept { return word_.load(std::memory_order_relaxed) / sleeper; }

private:
    static constexpr std::uint32_t searcher = 1, sleeper = 1u << 16, searchers_mask = sleeper - 1;
    std::atomic<std::uint32_t> word_ = 0;
};

} // namespace holdfast::coro
