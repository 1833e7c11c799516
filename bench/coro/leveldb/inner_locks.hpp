// SPDX-License-Identifier: MIT OR Apache-2.0
// A mutex and a condition variable for code that knows nothing of coroutines: a task that runs in a fiber waits as a
// coroutine does, by the policy chosen for the program; any other thread sleeps.
#pragma once

#include <variant>

#include "holdfast/coro/condition_variable.hpp"
#include "holdfast/coro/mutex.hpp"

namespace holdfast::bench {

// Of all locks that are made from now on.
void choose_inner_locks(coro::policy policy);

class inner_mutex {
public:
    inner_mutex();
    void lock();
    void unlock();

private:
    friend class inner_condition;
    std::variant<coro::basic_mutex<coro::policy::ces>, coro::basic_mutex<coro::policy::dispatch>,
                 coro::basic_mutex<coro::policy::inline_>>
        of_;
};

class inner_condition {
public:
    inner_condition();
    // Requires that the caller has the mutex, which is of the same policy.
    void wait(inner_mutex &mutex);
    void notify_one();
    void notify_all();

private:
    std::variant<coro::basic_condition_variable<coro::policy::ces>,
                 coro::basic_condition_variable<coro::policy::dispatch>,
                 coro::basic_condition_variable<coro::policy::inline_>>
        of_;
};

} // namespace holdfast::bench
