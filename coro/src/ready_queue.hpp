// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines that can run, first in, first out, for any number of threads that put and take.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <vector>

#include "holdfast/coro/detail/spin_guard.hpp"

namespace holdfast::coro {

// A ring that grows. A worker that looks for work reads `size` alone: an empty queue costs a load of a line that is
// shared.
class alignas(64) ready_queue {
public:
    struct entry {
        std::coroutine_handle<> handle;
        bool rotated = false; // had its turn already (turn.hpp); if not it is a guest

        entry() = default;
        entry(std::coroutine_handle<> ready, bool has_had_turn = false) noexcept // not explicit: the usual case
            : handle(ready), rotated(has_had_turn) {}
    };

    ready_queue() : ring_(initial_size) {}

    void put(entry ready) noexcept {
        spin_lock held(guard_);
        std::size_t size = size_.load(std::memory_order_relaxed);
        if (size == ring_.size())
            grow(); // std::bad_alloc ends the program: there is nobody who could be told
        ring_[(first_ + size) & (ring_.size() - 1)] = ready;
        if (!ready.rotated)
            guests_.store(guests_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        // Sequentially consistent, as are looks_empty() and all that says who sleeps: a task that puts and then finds
        // nobody asleep has been seen by everybody who went to sleep later (pool.P1, worker_sleep.hpp).
        size_.store(size + 1, std::memory_order_seq_cst);
    }

    [[nodiscard]] bool looks_empty() const noexcept { return size_.load(std::memory_order_seq_cst) == 0; }
    // Advice.
    [[nodiscard]] bool has_guests() const noexcept { return guests_.load(std::memory_order_relaxed) > 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

    // Up to `count` of the oldest, in their order. How many.
    std::size_t take(entry *into, std::size_t count) noexcept {
        if (looks_empty())
            return 0;
        spin_lock held(guard_);
        std::size_t size = size_.load(std::memory_order_relaxed);
        if (count > size)
            count = size;
        std::size_t guests = 0;
        for (std::size_t i = 0; i < count; i++) {
            into[i] = ring_[(first_ + i) & (ring_.size() - 1)];
            guests += !into[i].rotated;
        }
        if (guests > 0)
            guests_.store(guests_.load(std::memory_order_relaxed) - guests, std::memory_order_relaxed);
        first_ = (first_ + count) & (ring_.size() - 1);
        size_.store(size - count, std::memory_order_relaxed);
        return count;
    }

private:
    static constexpr std::size_t initial_size = 256; // a power of two, and it doubles

    void grow() {
        std::vector<entry> larger(2 * ring_.size());
        for (std::size_t i = 0; i < ring_.size(); i++)
            larger[i] = ring_[(first_ + i) & (ring_.size() - 1)];
        ring_.swap(larger);
        first_ = 0;
    }

    spin_guard guard_;
    std::atomic<std::size_t> size_ = 0;   // written by a task that has the guard
    std::atomic<std::size_t> guests_ = 0; // likewise
    std::size_t first_ = 0;
    std::vector<entry> ring_;
};

} // namespace holdfast::coro
