// SPDX-License-Identifier: MIT OR Apache-2.0
// Functions on stacks of their own: what they give, wait for, and leave behind.
// Shown able to fail: see docs/coroutines-checks.md.
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "coro/gathering.hpp"
#include "holdfast/coro/coro.hpp"
#include "holdfast/coro/fiber.hpp"
#include "holdfast/coro/statistics.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

TEST(CoroFiber, GivesWhatItsFunctionGives) {
    pool on(pool_options{2});
    EXPECT_EQ(sync_wait(on, fiber([] { return std::string("result"); })), "result");
    sync_wait(on, fiber([] {}));
    auto owned = std::make_unique<int>(7);
    EXPECT_EQ(*sync_wait(on, fiber([&] { return std::move(owned); })), 7);
}

TEST(CoroFiber, ThrowsWhatItsFunctionThrows) {
    pool on(pool_options{1});
    EXPECT_THROW(sync_wait(on, fiber([]() -> int { throw std::runtime_error("no"); })), std::runtime_error);
    EXPECT_THROW(sync_wait(on, fiber([] {
                               this_fiber::await(sleep_for(1ms));
                               throw std::runtime_error("no");
                           })),
                 std::runtime_error);
}

TEST(CoroFiber, IsKnownInside) {
    pool on(pool_options{1});
    EXPECT_FALSE(this_fiber::exists());
    EXPECT_THROW(this_fiber::await(sleep_for(1ms)), std::logic_error);
    EXPECT_TRUE(sync_wait(on, fiber([] { return this_fiber::exists(); })));
    auto ask = []() -> task<bool> { co_return this_fiber::exists(); };
    EXPECT_FALSE(sync_wait(on, ask()));
}

// A function that knows nothing of coroutines, but for the lock that it takes at its deepest.
void count_at_depth(int depth, mutex &lock, long &count) {
    volatile char frame[64] = {};
    if (depth > 0)
        return count_at_depth(depth - 1, lock, count);
    this_fiber::await(lock.lock());
    long before = count;
    if (before % 16 == 0)
        this_fiber::await(yield()); // while it is held
    count = before + 1;
    this_fiber::await(lock.unlock());
    static_cast<void>(frame[0]);
}

void expect_exclusion(unsigned workers) {
    constexpr int fibers = 40, rounds = 500;
    pool on(pool_options{workers});
    mutex lock;
    long count = 0;
    gathering all;
    for (int i = 0; i < fibers; i++)
        all.add(on, fiber([&, i] {
                    for (int round = 0; round < rounds; round++)
                        count_at_depth(i % 20, lock, count);
                }));
    all.wait();
    EXPECT_EQ(count, fibers * rounds);
}

TEST(CoroFiber, WaitsHoweverDeepItsCallsAre) {
    expect_exclusion(1);
    expect_exclusion(2);
    expect_exclusion(4);
}

TEST(CoroFiber, HandsOverByExchange) {
    statistics::reset();
    statistics::count(true);
    expect_exclusion(2);
    statistics::count(false);
    std::uint64_t at_once = 0;
    for (const primitive_counts &one : statistics::read())
        at_once += one.by(passage::at_once);
    EXPECT_GT(at_once, 0u);
}

TEST(CoroFiber, WaitsForEachKind) {
    pool on(pool_options{2});
    channel<int> numbers(1);
    event begins;
    condition_variable changed;
    mutex lock;
    bool ready = false;
    gathering all;
    int sum = 0;
    all.add(on, fiber([&] {
                this_fiber::await(begins.wait());
                for (int i = 1; i <= 100; i++)
                    EXPECT_TRUE(this_fiber::await(numbers.send(i)));
                numbers.close();
            }));
    auto add_up = [&]() -> task<> { // a coroutine at the other end
        while (std::optional<int> one = co_await numbers.receive())
            sum += *one;
        co_await lock.lock();
        ready = true;
        co_await lock.unlock();
        changed.notify_all();
    };
    all.add(on, add_up());
    all.add(on, fiber([&] {
                auto held = this_fiber::await(lock.scoped_lock());
                begins.set();
                while (!ready)
                    static_cast<void>(this_fiber::await(changed.wait(held)));
                this_fiber::await(held.unlock());
                EXPECT_EQ(sum, 5050);
            }));
    all.wait();
}

TEST(CoroFiber, WaitsForTasksAndOtherFibers) {
    pool on(pool_options{2});
    auto twice = [](int number) -> task<int> {
        co_await sleep_for(1ms);
        co_return 2 * number;
    };
    EXPECT_EQ(sync_wait(on, fiber([&] {
                            int inner = this_fiber::await(fiber([&] { return 1 + this_fiber::await(twice(10)); }));
                            EXPECT_TRUE(this_fiber::exists());
                            return this_fiber::await(twice(inner));
                        })),
              42);
}

TEST(CoroFiber, GivesUpInTime) {
    pool on(pool_options{2});
    mutex lock;
    ASSERT_TRUE(lock.try_lock());
    EXPECT_FALSE(sync_wait(on, fiber([&] { return this_fiber::await(lock.try_lock_for(5ms)); })));
    lock.unlock_unsuspended();
    EXPECT_TRUE(sync_wait(on, fiber([&] { return this_fiber::await(lock.try_lock_for(5ms)); })));
    lock.unlock_unsuspended();
}

// coro.F2. What is on the stack is destroyed, and the wait has left its mutex.
TEST(CoroFiber, ItsStackEndsWithItsPool) {
    mutex lock;
    ASSERT_TRUE(lock.try_lock());
    auto kept = std::make_shared<int>(1);
    std::weak_ptr<int> seen = kept;
    std::atomic<int> waiting = 0;
    bool went_on = false;
    {
        pool on(pool_options{2});
        for (int i = 0; i < 10; i++)
            spawn(on, fiber([&, kept] {
                      std::shared_ptr<int> own = kept;
                      waiting++;
                      this_fiber::await(lock.lock());
                      went_on = true;
                  }));
        while (waiting < 10)
            std::this_thread::yield();
        kept.reset();
    }
    EXPECT_TRUE(seen.expired());
    EXPECT_FALSE(went_on);
    lock.unlock_unsuspended();
    EXPECT_TRUE(lock.try_lock()) << "it was given to one that is gone";
    lock.unlock_unsuspended();
}

// coro.F3. A guard's destructor waits while an exception flies, and its function goes on on another thread.
TEST(CoroFiber, ExceptionsGoWithTheirFunction) {
    pool one(pool_options{1}), other(pool_options{1});
    auto moves = [&] {
        struct guard {
            executor_base &there;
            ~guard() { this_fiber::await(resume_on(there)); }
        };
        try {
            guard held{other};
            throw std::runtime_error("no");
        } catch (const std::runtime_error &error) {
            this_fiber::await(resume_on(one)); // while it is handled
            EXPECT_STREQ(error.what(), "no");
            EXPECT_THROW(throw, std::runtime_error);
        }
        return std::uncaught_exceptions();
    };
    auto ask = []() -> task<int> { co_return std::uncaught_exceptions(); };
    for (int round = 0; round < 10; round++) {
        EXPECT_EQ(sync_wait(one, fiber(moves)), 0);
        EXPECT_EQ(sync_wait(one, ask()), 0);
        EXPECT_EQ(sync_wait(other, ask()), 0);
    }
}

// coro.F4.
TEST(CoroFiber, WhatRunsByTheWayIsInNoFiber) {
    struct by_hand { // begins at once, on no executor, and is awaited by nobody
        struct promise_type {
            by_hand get_return_object() const noexcept { return {}; }
            std::suspend_never initial_suspend() const noexcept { return {}; }
            std::suspend_never final_suspend() const noexcept { return {}; }
            void return_void() const noexcept {}
            void unhandled_exception() const noexcept { std::terminate(); }
        };
    };
    pool on(pool_options{1});
    event let_go;
    bool was_in_one = true;
    [](event &waits, bool &in_one) -> by_hand {
        co_await waits.wait();
        in_one = this_fiber::exists();
    }(let_go, was_in_one);
    EXPECT_TRUE(sync_wait(on, fiber([&] {
                              let_go.set();
                              return this_fiber::exists();
                          })));
    EXPECT_FALSE(was_in_one);
}

TEST(CoroFiber, WhatAWaitThrowsIsTheFunctions) {
    struct refuses {
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<>) const { throw std::runtime_error("no"); }
        void await_resume() const noexcept {}
    };
    pool on(pool_options{1});
    EXPECT_TRUE(sync_wait(on, fiber([] {
                              try {
                                  this_fiber::await(refuses{});
                              } catch (const std::runtime_error &) {
                                  return true;
                              }
                              return false;
                          })));
}

TEST(CoroFiber, ATaskThatNeverBeganHasNoStackToEnd) {
    bool began = false;
    {
        task<> never = fiber([&] { began = true; });
    }
    EXPECT_FALSE(began);
}

TEST(CoroFiber, ManyAtOnce) {
    constexpr int fibers = 2000;
    pool on(pool_options{2});
    event go;
    std::atomic<int> done = 0;
    gathering all;
    for (int i = 0; i < fibers; i++)
        all.add(on, fiber(
                        [&] {
                            this_fiber::await(go.wait());
                            done++;
                        },
                        {.stack_bytes = 16 * 1024}));
    go.set();
    all.wait();
    EXPECT_EQ(done, fibers);
}

} // namespace
