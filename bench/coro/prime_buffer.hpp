// SPDX-License-Identifier: MIT OR Apache-2.0
// A bounded buffer made of a coroutine mutex and two condition variables, as in textbooks.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <optional>

#include "holdfast/coro/condition_variable.hpp"
#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::bench {

inline constexpr std::size_t buffer_size = 16;

// When whoever has changed the buffer says so: with the mutex, after it, or after it by an awaited notification.
enum class notifies { inside, after, awaited };

template <coro::policy Policy, notifies When = notifies::inside>
class prime_buffer {
public:
    // False when the buffer is closed.
    coro::task<bool> put(unsigned prime) {
        auto held = co_await mutex_.scoped_lock();
        while (count_ == buffer_size && !closed_)
            static_cast<void>(co_await not_full_.wait(held));
        bool open = !closed_;
        if (open) {
            primes_[(first_ + count_++) % buffer_size] = prime;
            if constexpr (When == notifies::inside)
                not_empty_.notify_one();
        }
        co_await held.unlock();
        if constexpr (When != notifies::inside)
            if (open)
                co_await notify(not_empty_);
        co_return open;
    }
    // Nothing when the buffer is closed and empty.
    coro::task<std::optional<unsigned>> take() {
        auto held = co_await mutex_.scoped_lock();
        while (count_ == 0 && !closed_)
            static_cast<void>(co_await not_empty_.wait(held));
        std::optional<unsigned> prime;
        if (count_ > 0) {
            prime = primes_[first_];
            first_ = (first_ + 1) % buffer_size;
            count_--;
            if constexpr (When == notifies::inside)
                not_full_.notify_one();
        }
        co_await held.unlock();
        if constexpr (When != notifies::inside)
            if (prime)
                co_await notify(not_full_);
        co_return prime;
    }
    coro::task<> close() {
        auto held = co_await mutex_.scoped_lock();
        closed_ = true;
        not_full_.notify_all();
        not_empty_.notify_all();
        co_await held.unlock();
    }

private:
    static auto notify(coro::basic_condition_variable<Policy> &changed) {
        if constexpr (When == notifies::awaited) {
            return changed.notify_one();
        } else {
            changed.notify_one();
            return std::suspend_never();
        }
    }

    coro::basic_mutex<Policy> mutex_;
    coro::basic_condition_variable<Policy> not_full_, not_empty_;
    std::array<unsigned, buffer_size> primes_{};
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    bool closed_ = false;
};

} // namespace holdfast::bench
