// SPDX-License-Identifier: MIT OR Apache-2.0
// A plain pool of functions, as programs have them.
#pragma once

#include <functional>
#include <utility>

#include "coro/foreign/worker_threads.hpp"
#include "holdfast/coro/executors/posting_executor.hpp"

class foreign_threads {
public:
    explicit foreign_threads(unsigned count, holdfast::coro::posting_options options = {})
        : threads_(
              count, [](const std::function<void()> &one) { one(); }, [](const std::function<void()> &) {}),
          on_([this](holdfast::coro::posting_executor::ticket one) { threads_.give(std::move(one)); }, options) {}
    auto &on() { return on_; }

private:
    worker_threads<std::function<void()>> threads_;
    holdfast::coro::posting_executor on_;
};
