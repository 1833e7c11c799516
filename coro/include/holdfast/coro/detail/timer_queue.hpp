// SPDX-License-Identifier: MIT OR Apache-2.0
// Deadlines, and a thread that waits for them. An executor has one; the thread starts with the first deadline.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::coro {

using deadline_clock = std::chrono::steady_clock;

// The clock's time so much from now; its last one when that is further away, and now when that has gone.
template <class Rep, class Period>
[[nodiscard]] deadline_clock::time_point deadline_after(std::chrono::duration<Rep, Period> wait) {
    using seconds = std::chrono::duration<double>;
    deadline_clock::time_point now = deadline_clock::now();
    if (wait <= wait.zero()) // far enough back it can't be told in the clock's unit
        return now;
    if (seconds(wait) >= seconds(deadline_clock::time_point::max() - now))
        return deadline_clock::time_point::max();
    return now + std::chrono::ceil<deadline_clock::duration>(wait);
}

// Lives where the wait does; no allocation for it but the growth of the heap of pointers.
struct timer {
    deadline_clock::time_point at{};
    void (*fire)(timer &) noexcept = nullptr;
    std::size_t place = nowhere; // in the heap

    static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
};

class timer_queue {
public:
    timer_queue() = default;
    timer_queue(const timer_queue &) = delete;
    timer_queue &operator=(const timer_queue &) = delete;
    // Requires that no timer is left.
    ~timer_queue();

    // `one.fire` is called once, on the queue's thread, at `one.at` or later, unless cancel() comes first. It must
    // neither block nor call add() or cancel(). O(log n). Throws std::system_error when there can be no thread, and
    // std::bad_alloc: then it was not added.
    void add(timer &one);
    // After this `fire` is neither running nor will it run. O(log n).
    void cancel(timer &one) noexcept;
    // After this no `fire` is running, nor will one run. For an executor that is about to destroy the waiters.
    void close() noexcept;
    // After close(): lets all that are left fire, on this thread.
    void expire_all() noexcept;

private:
    void run() noexcept;
    void take_out(std::size_t place) noexcept;
    void sift(std::size_t place) noexcept;
    bool earlier(std::size_t one, std::size_t other) const noexcept { return heap_[one]->at < heap_[other]->at; }
    void swap(std::size_t one, std::size_t other) noexcept;

    std::mutex lock_; // also held while `fire` runs: that is what makes cancel() final
    std::condition_variable changed_;
    std::vector<timer *> heap_; // the earliest in front
    std::thread thread_;
    bool over_ = false;
};

} // namespace holdfast::coro
