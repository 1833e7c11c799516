// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines on an Asio thread_pool, io_context or strand. Needs Asio (Debian: libasio-dev), which no other header here
// includes.
//
//     asio::thread_pool threads(4);
//     asio_executor on(threads.get_executor()); // must end before `threads`
//     sync_wait(on, work());
//
// What was spawned counts as work of Asio's until it has ended: io_context::run() does not return while it sleeps or
// waits.
// Test: tests/coro/executors_test.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

#include "holdfast/coro/executors/posting_executor.hpp"

namespace holdfast::coro {

// asio::post for all: what asio::defer keeps for its thread nobody else could take while that thread is busy.
template <class Executor>
class asio_executor final : public posting_executor {
public:
    explicit asio_executor(Executor on, posting_options options = {})
        : posting_executor([on](ticket one) { asio::post(on, std::move(one)); }, options), on_(std::move(on)) {}
    ~asio_executor() override { shutdown(); }

    bool adopt(root &one) noexcept override {
        if (!posting_executor::adopt(one))
            return false;
        std::lock_guard held(lock_);
        if (roots_++ == 0)
            work_.emplace(on_);
        return true;
    }
    void disown(root &one) noexcept override {
        posting_executor::disown(one);
        std::optional<work> last; // ends after the lock is free
        std::lock_guard held(lock_);
        if (--roots_ == 0) {
            last.emplace(std::move(*work_));
            work_.reset();
        }
    }

private:
    using work = asio::executor_work_guard<Executor>;
    Executor on_;
    std::mutex lock_;
    std::size_t roots_ = 0;
    std::optional<work> work_; // while there are roots
};

} // namespace holdfast::coro
