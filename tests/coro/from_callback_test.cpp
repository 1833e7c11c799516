// SPDX-License-Identifier: MIT OR Apache-2.0
// Libraries that call back on threads of their own: the coroutine comes home by itself, and one that was resumed by
// hand there is told what it can't do.
// Shown able to fail: with `done` that resumes the coroutine's handle, ComesHome fails; without the check in arm(),
// ResumedByHandItIsTold does not end; with take() that leaves the exception there, ItsExceptionIsTheCoroutines fails.
#include <gtest/gtest.h>
#include <thread>

#include "coro/started_by_hand.hpp"
#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

TEST(FromCallback, ComesHome) {
    pool workers(1);
    std::thread library;
    auto waits = [&]() -> task<int> {
        std::thread::id home = std::this_thread::get_id();
        int got = co_await from_callback<int>([&](callback<int> done) {
            library = std::thread([done] {
                std::this_thread::sleep_for(2ms);
                done(7);
                done(8); // the first counts
            });
        });
        bool slept = co_await sleep_for(1ms);
        co_return slept &&std::this_thread::get_id() == home ? got : 0;
    };
    EXPECT_EQ(sync_wait(workers, waits()), 7);
    library.join();
}

TEST(FromCallback, MayBeCalledAtOnceAndFail) {
    pool workers(1);
    auto waits = []() -> task<> {
        co_await from_callback([](callback<void> done) { done(); });
        co_await from_callback(
            [](callback<void> done) { done.fail(std::make_exception_ptr(std::runtime_error("no"))); });
    };
    EXPECT_THROW(sync_wait(workers, waits()), std::runtime_error);
}

// It ends with the coroutine's handler, whoever keeps a `done` longer.
TEST(FromCallback, ItsExceptionIsTheCoroutines) {
    auto thrown = std::make_shared<int>();
    struct holder {
        std::shared_ptr<int> of;
    };
    std::optional<callback<void>> kept;
    pool workers(1);
    auto waits = [&]() -> task<> {
        co_await from_callback([&](callback<void> done) {
            kept.emplace(done);
            done.fail(std::make_exception_ptr(holder{thrown}));
        });
    };
    EXPECT_THROW(sync_wait(workers, waits()), holder);
    EXPECT_EQ(thrown.use_count(), 1);
}

TEST(FromCallback, MayBeCalledWhenTheCoroutineIsGone) {
    std::optional<callback<int>> kept;
    std::atomic<bool> started = false;
    {
        pool workers(1);
        auto waits = [&]() -> task<> {
            int never = co_await from_callback<int>([&](callback<int> done) {
                kept.emplace(done);
                started = true;
            });
            static_cast<void>(never);
        };
        spawn(workers, waits);
        while (!started)
            std::this_thread::yield();
    }
    (*kept)(1);
}

// co_await of a callback as it is often written.
struct resumed_by_a_library {
    std::thread &library;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const {
        library = std::thread([self] { self.resume(); });
    }
    void await_resume() const noexcept {}
};

TEST(FromCallback, ResumedByHandItIsTold) {
    pool workers(1);
    std::thread library;
    auto waits = [&]() -> task<int> {
        co_await resumed_by_a_library{library};
        int told = 0;
        mutex taken;
        static_cast<void>(taken.try_lock());
        try {
            bool slept = co_await sleep_for(1ms);
            static_cast<void>(slept);
        } catch (const no_executor &) {
            told++;
        }
        try {
            bool got = co_await taken.try_lock_for(1ms);
            static_cast<void>(got);
        } catch (const no_executor &) {
            told++;
        }
        taken.unlock_unsuspended();
        co_await resume_on(workers);
        bool slept = co_await sleep_for(1ms);
        co_return slept ? told : 0;
    };
    EXPECT_EQ(sync_wait(workers, waits()), 2);
    library.join();
}

// Each unlock lets the next one in, which is on no executor either.
TEST(FromCallback, AChainOfThoseOnNoExecutorTakesTheStackOfOne) {
    constexpr int waiters = 200'000;
    mutex one;
    int done = 0;
    auto enters = [&]() -> started_by_hand {
        co_await one.lock();
        done++;
        co_await one.unlock();
    };
    ASSERT_TRUE(one.try_lock());
    for (int i = 0; i < waiters; i++)
        enters();
    one.unlock_unsuspended();
    EXPECT_EQ(done, waiters);
}

} // namespace
