// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines on an Asio thread_pool, io_context or strand. Needs Asio (Debian: libasio-dev), which no other header here
// includes.
//
//     asio::thread_pool threads(4);
//     asio_executor on(threads.get_executor()); // must end before `threads`
//     sync_wait(on, work());
//
// Test: tests/coro/executors_test.
#pragma once

#include <asio/post.hpp>
#include <utility>

#include "holdfast/coro/executors/posting_executor.hpp"

namespace holdfast::coro {

// asio::post for all: what asio::defer keeps for its thread nobody else could take while that thread is busy.
template <class Executor>
class asio_executor final : public posting_executor {
public:
    explicit asio_executor(Executor on, posting_options options = {})
        : posting_executor([on = std::move(on)](ticket one) { asio::post(on, std::move(one)); }, options) {}
    ~asio_executor() override { shutdown(); }
};

} // namespace holdfast::coro
