// SPDX-License-Identifier: MIT OR Apache-2.0
// Another coroutine library's scheduler: it resumes handles and knows nothing else. What it never resumes it destroys.
#pragma once

#include <coroutine>

#include "coro/foreign/worker_threads.hpp"
#include "holdfast/coro/executors/adapted_executor.hpp"

class handle_scheduler {
public:
    explicit handle_scheduler(unsigned count)
        : threads_(
              count, [](std::coroutine_handle<> one) { one.resume(); },
              [](std::coroutine_handle<> one) { one.destroy(); }) {}
    void schedule(std::coroutine_handle<> one) { threads_.give(one); }
    void schedule_remote(std::coroutine_handle<> one) { schedule(one); }

private:
    worker_threads<std::coroutine_handle<>> threads_;
};

class foreign_threads {
public:
    explicit foreign_threads(unsigned count, holdfast::coro::posting_options options = {})
        : threads_(count), on_(threads_, options) {}
    auto &on() { return on_; }

private:
    handle_scheduler threads_;
    holdfast::coro::adapted_executor<handle_scheduler> on_;
};
