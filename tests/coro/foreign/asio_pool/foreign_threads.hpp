// SPDX-License-Identifier: MIT OR Apache-2.0
// An Asio thread pool. With no threads nothing is run.
#pragma once

#include <asio/thread_pool.hpp>
#include <optional>

#include "holdfast/coro/asio.hpp"

class foreign_threads {
public:
    explicit foreign_threads(unsigned count, holdfast::coro::posting_options options = {})
        : threads_(count > 0 ? count : 1), on_(threads_.get_executor(), options) {
        if (count == 0)
            threads_.stop();
    }
    auto &on() { return on_; }

private:
    asio::thread_pool threads_;
    holdfast::coro::asio_executor<asio::thread_pool::executor_type> on_;
};
