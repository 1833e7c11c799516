// SPDX-License-Identifier: MIT OR Apache-2.0
// What becomes of values that tasks hold, or were just given, when their executor ends. Its tickets are run here by
// hand, so that it can end between a task's being let go and its going on.
// Shown able to fail: see docs/coroutines-checks.md.
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <stop_token>

#include "holdfast/coro/coro.hpp"
#include "holdfast/coro/executors/posting_executor.hpp"

namespace {

using namespace holdfast::coro;

class executor_by_hand {
public:
    posting_executor &on() { return on_; }
    void run_all() {
        while (!tickets_.empty()) {
            posting_executor::ticket first = tickets_.front();
            tickets_.pop_front();
            first();
        }
    }

private:
    std::deque<posting_executor::ticket> tickets_;
    posting_executor on_{[this](posting_executor::ticket one) { tickets_.push_back(std::move(one)); }};
};

using value = std::shared_ptr<int>;

task<> receive_from(channel<value> &from, bool &got) {
    got = (co_await from.receive()).has_value();
}

task<> send_into(channel<value> &to, value one, bool &sent) {
    sent = co_await to.send(std::move(one));
}

// coro.N1's exception: it was handed over, so nobody else can have it.
TEST(CoroEndedExecutor, AValueGoesWithItsReceiver) {
    channel<value> values(0);
    executor_by_hand executor;
    bool got = false;
    spawn(executor.on(), receive_from(values, got));
    executor.run_all();
    auto one = std::make_shared<int>(1);
    std::weak_ptr<int> seen = one;
    EXPECT_TRUE(values.try_send(one)); // it is scheduled, and does not run
    executor.on().shutdown();
    EXPECT_TRUE(seen.expired());
    EXPECT_FALSE(got);
    EXPECT_FALSE(values.try_receive());
}

TEST(CoroEndedExecutor, ASenderTakesItsValueAlong) {
    channel<value> values(0);
    executor_by_hand executor;
    bool sent = false;
    auto one = std::make_shared<int>(1);
    std::weak_ptr<int> seen = one;
    spawn(executor.on(), send_into(values, std::move(one), sent));
    executor.run_all();
    EXPECT_FALSE(seen.expired());
    executor.on().shutdown();
    EXPECT_TRUE(seen.expired());
    EXPECT_FALSE(sent);
    EXPECT_FALSE(values.try_receive());
}

TEST(CoroEndedExecutor, AValueThatIsInTheRoomStays) {
    channel<value> values(1);
    executor_by_hand executor;
    bool sent = false;
    auto before = std::make_shared<int>(1);
    EXPECT_TRUE(values.try_send(before));
    spawn(executor.on(), send_into(values, std::make_shared<int>(2), sent));
    executor.run_all();
    auto first = values.try_receive(); // its place is the waiting sender's now
    executor.on().shutdown();
    auto second = values.try_receive();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(**first, 1);
    EXPECT_EQ(**second, 2);
    EXPECT_FALSE(values.try_receive());
}

TEST(CoroEndedExecutor, WhatARaceHoldsGoesWithIt) {
    event never;
    executor_by_hand executor;
    auto one = std::make_shared<int>(1);
    std::weak_ptr<int> seen = one;
    auto wait = [&](value held, std::stop_token token) -> task<value> {
        static_cast<void>(co_await never.wait(std::move(token)));
        co_return held;
    };
    auto race = [&](value held) -> task<> {
        co_await when_any([&](std::stop_token token) { return wait(held, std::move(token)); },
                          [&](std::stop_token token) { return wait(held, std::move(token)); });
    };
    spawn(executor.on(), race(std::move(one)));
    executor.run_all();
    EXPECT_EQ(seen.use_count(), 3);
    executor.on().shutdown();
    EXPECT_TRUE(seen.expired());
    never.set(); // nobody is in its list
}

// Memory whose condition variable is gone: each look at its guard waits for ever.
class mortal_condition {
public:
    condition_variable &there() { return *std::launder(reinterpret_cast<condition_variable *>(bytes_)); }
    void destroy() {
        there().~condition_variable();
        std::memset(bytes_, 0xff, sizeof(bytes_));
    }

private:
    alignas(condition_variable) unsigned char bytes_[sizeof(condition_variable)];
    condition_variable *made_ = new (bytes_) condition_variable;
};

task<> wait_for(mutex &guard, condition_variable &of) {
    auto held = co_await guard.scoped_lock();
    co_await of.wait(held);
}

// A condition variable may be destroyed when all its waiters are notified, whatever becomes of them afterwards.
TEST(CoroEndedExecutor, AWaiterThatWantsTheMutexDoesNotLookAtItsConditionVariable) {
    mutex guard;
    mortal_condition one;
    executor_by_hand executor;
    spawn(executor.on(), wait_for(guard, one.there()));
    executor.run_all();
    ASSERT_TRUE(guard.try_lock());
    one.there().notify_all();
    one.destroy();
    executor.on().shutdown();
    guard.unlock_unsuspended();
    EXPECT_TRUE(guard.try_lock());
    guard.unlock_unsuspended();
}

// coro.W5
TEST(CoroEndedExecutor, AWaitKnowsNoExecutorOfTheWaitBefore) {
    executor_by_hand executor;
    waiter one;
    auto prepares = [&]() -> task<> {
        one.prepare(std::noop_coroutine());
        co_return;
    };
    spawn(executor.on(), prepares());
    executor.run_all();
    ASSERT_EQ(one.home, &executor.on());
    one.prepare(std::noop_coroutine());
    EXPECT_EQ(one.home, nullptr);
}

} // namespace
