// SPDX-License-Identifier: MIT OR Apache-2.0
// A coroutine that the compiler breaks, as g++ 12 does, says so and ends: it does not hang, or jump anywhere. Compilers
// that do not break it run it. Shown able to fail, with g++ 12: without the look in suspend_and_check it hangs or dies.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

task<> awaits_in_a_condition(mutex &guard, int &entered) {
    if (co_await guard.try_lock_for(1h)) {
        entered++;
        co_await guard.unlock();
    }
}

task<int> enter(mutex &guard) {
    co_await guard.lock();
    co_await guard.unlock();
    co_return 1;
}

task<> awaits_a_task_in_a_condition(mutex &guard, int &entered) {
    while (entered < co_await enter(guard))
        entered++;
}

task<> awaits_before_a_condition(mutex &guard, int &entered) {
    bool got = co_await guard.try_lock_for(1h);
    if (got) {
        entered++;
        co_await guard.unlock();
    }
}

int entered_by(task<> (*coroutine)(mutex &, int &)) {
    mutex guard;
    int entered = 0;
    pool workers(1);
    sync_wait(workers, coroutine(guard, entered));
    return entered;
}

bool ran_or_said_so(int status) {
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

void expect_runs_or_says_so(task<> (*coroutine)(mutex &, int &)) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            alarm(600);
            std::exit(entered_by(coroutine) == 1 ? 0 : 1);
        },
        ran_or_said_so, "^$|frame_check_test.cpp:[0-9]+: the compiler has laid out .* in a variable first");
}

TEST(CoroFrameCheckDeathTest, ACoroutineRunsOrSaysThatItIsBroken) {
    expect_runs_or_says_so(awaits_in_a_condition);
    expect_runs_or_says_so(awaits_a_task_in_a_condition);
}

TEST(CoroFrameCheck, WhatTheSentenceRecommendsRuns) {
    EXPECT_EQ(entered_by(awaits_before_a_condition), 1);
}

} // namespace
