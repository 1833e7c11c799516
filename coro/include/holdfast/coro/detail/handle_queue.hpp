// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines that one thread will resume, first in, first out. Nothing is allocated before the first is put.
#pragma once

#include <algorithm>
#include <coroutine>
#include <vector>

namespace holdfast::coro {

class handle_queue {
public:
    [[nodiscard]] bool empty() const noexcept { return newest_last_.empty() && oldest_last_.empty(); }
    // std::bad_alloc ends the program: there is nobody who could be told.
    void put(std::coroutine_handle<> one) noexcept { newest_last_.push_back(one); }
    // Requires that it is not empty. O(1) on average.
    [[nodiscard]] std::coroutine_handle<> take() noexcept {
        if (oldest_last_.empty()) {
            oldest_last_.swap(newest_last_);
            std::reverse(oldest_last_.begin(), oldest_last_.end());
        }
        std::coroutine_handle<> one = oldest_last_.back();
        oldest_last_.pop_back();
        return one;
    }

private:
    std::vector<std::coroutine_handle<>> newest_last_, oldest_last_;
};

} // namespace holdfast::coro
