// SPDX-License-Identifier: MIT OR Apache-2.0
// What a thread keeps of what it traced.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "holdfast/coro/trace.hpp"

namespace holdfast::coro::trace {

enum class event_kind : std::uint8_t { ran, section_begin, section_end };

struct event {
    std::uint64_t at_ns = 0;
    std::uint64_t until_ns = 0; // of `ran`
    const void *what = nullptr; // the coroutine, or the mutex
    event_kind kind = event_kind::ran;
};

// Written by its thread alone, read by anybody: what is before size() does not change any more.
class thread_events {
public:
    explicit thread_events(std::string thread) : thread_(std::move(thread)), events_(new event[events_max]) {}

    void add(const event &one) noexcept {
        std::size_t size = size_.load(std::memory_order_relaxed);
        if (size == events_max) {
            left_out_.store(left_out_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            return;
        }
        events_[size] = one;
        size_.store(size + 1, std::memory_order_release); // pairs with size(): the event is there
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
    [[nodiscard]] const event &operator[](std::size_t index) const noexcept { return events_[index]; }
    [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_.load(std::memory_order_relaxed); }
    [[nodiscard]] const std::string &thread() const noexcept { return thread_; }

private:
    std::string thread_;
    std::unique_ptr<event[]> events_;
    std::atomic<std::size_t> size_ = 0;
    std::atomic<std::uint64_t> left_out_ = 0;
};

using all_events = std::vector<std::shared_ptr<const thread_events>>;

// As JSON, in trace_json.cpp.
void write_json(std::ostream &to, const all_events &threads);

} // namespace holdfast::coro::trace
