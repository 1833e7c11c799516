// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines that are resumed by others, by hand: ones that start when they are called and that nobody awaits, and a
// callback that has a handle. Each is resumed within its caller, and both may pass their thread on.
// Shown able to fail: docs/coroutines-checks.md.
#include <chrono>
#include <coroutine>
#include <gtest/gtest.h>

#include "coro/started_by_hand.hpp"
#include "holdfast/coro/condition_variable.hpp"
#include "holdfast/coro/event.hpp"
#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

constexpr auto generous = 20s; // for a test that fails

// What a coroutine awaits that is to be called back.
struct callback {
    std::coroutine_handle<> waits;

    auto operator co_await() noexcept {
        struct awaiter {
            bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<> self) const noexcept { of.waits = self; }
            void await_resume() const noexcept {}
            callback &of;
        };
        return awaiter{*this};
    }
};

task<> end_at_once() {
    co_return;
}

// The slot has the child of the one that was called when its caller awaits its own.
TEST(CoroResumedByHand, AChildOfADetachedCoroutineRuns) {
    event done;
    pool workers(1u);
    auto begin = [&]() -> started_by_hand {
        co_await end_at_once();
        done.set();
    };
    auto call = [&]() -> task<bool> {
        begin();
        co_await end_at_once();
        co_return co_await done.wait_for(generous);
    };
    EXPECT_TRUE(sync_wait(workers, call()));
}

// The same where there is no executor to queue who was in the slot.
TEST(CoroResumedByHand, AChildRunsWithoutAnExecutor) {
    mutex gate;
    bool child_ended = false, caller_ended = false;
    auto begin = [&]() -> started_by_hand {
        co_await end_at_once();
        child_ended = true;
    };
    auto call = [&]() -> started_by_hand {
        co_await gate.lock();
        begin();
        co_await end_at_once();
        caller_ended = true;
    };
    ASSERT_TRUE(gate.try_lock());
    call();
    gate.unlock_unsuspended();
    EXPECT_TRUE(child_ended);
    EXPECT_TRUE(caller_ended);
}

template <class Mutex>
class CoroCalledBack : public testing::Test {};

using every_policy = testing::Types<mutex, dispatch_mutex, inline_mutex>;
TYPED_TEST_SUITE(CoroCalledBack, every_policy);

// The one worker runs them in this order. `hold` owns the mutex, awaits `call`, and lets it go within the caller.
template <class Mutex, class Hold>
bool next_owner_runs(Mutex &guard, callback &call, Hold hold) {
    event owned;
    bool waits = false;
    pool workers(1u);
    auto come = [&]() -> task<> {
        waits = true;
        co_await guard.lock();
        owned.set();
        co_await guard.unlock();
    };
    auto call_back = [&]() -> task<bool> {
        spawn(workers, hold());
        while (!call.waits)
            co_await yield();
        spawn(workers, come());
        while (!waits)
            co_await yield();
        call.waits.resume();
        co_await end_at_once();
        co_return co_await owned.wait_for(generous);
    };
    return sync_wait(workers, call_back());
}

TYPED_TEST(CoroCalledBack, TheNextOwnerRunsAfterAnUnlock) {
    TypeParam guard;
    callback call;
    EXPECT_TRUE(next_owner_runs(guard, call, [&]() -> task<> {
        co_await guard.lock();
        co_await call;
        co_await guard.unlock();
    }));
}

TEST(CoroResumedByHand, TheNextOwnerRunsAfterAWait) {
    mutex guard;
    condition_variable never;
    callback call;
    EXPECT_TRUE(next_owner_runs(guard, call, [&]() -> task<> {
        auto held = co_await guard.scoped_lock();
        co_await call;
        co_await never.wait(held);
    }));
}

} // namespace
