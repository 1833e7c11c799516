// SPDX-License-Identifier: MIT OR Apache-2.0
// An Asio io_context, which the program's own threads run.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <thread>
#include <vector>

#include "holdfast/coro/asio.hpp"

class foreign_threads {
public:
    explicit foreign_threads(unsigned count, holdfast::coro::posting_options options = {})
        : busy_(context_.get_executor()), on_(context_.get_executor(), options) {
        for (unsigned i = 0; i < count; i++)
            threads_.emplace_back([this] { context_.run(); });
    }
    ~foreign_threads() {
        on_.shutdown();
        context_.stop();
        for (std::thread &one : threads_)
            one.join();
    }
    auto &on() { return on_; }

private:
    asio::io_context context_;
    asio::executor_work_guard<asio::io_context::executor_type> busy_;
    holdfast::coro::asio_executor<asio::io_context::executor_type> on_;
    std::vector<std::thread> threads_;
};
