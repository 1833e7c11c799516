// SPDX-License-Identifier: MIT OR Apache-2.0
// coro.W5: an awaiter that is kept and awaited a second time asks a second time; it does not answer from the first.
// Shown able to fail: see docs/coroutines-checks.md.
#include <gtest/gtest.h>
#include <memory>
#include <type_traits>

#include "coro/let_others_run.hpp"
#include "holdfast/coro/channel.hpp"
#include "holdfast/coro/condition_variable.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/semaphore.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

// The mutex is had by somebody at each first look of the kept awaiter.
struct contended {
    mutex guard;
    int inside = 0;
    bool overlapped = false;

    void enter() { overlapped = overlapped || ++inside != 1; }
    void leave() { inside--; }
};

task<> hold(contended &here) {
    co_await here.guard.lock();
    here.enter();
    co_await let_others_run();
    here.leave();
    co_await here.guard.unlock();
}

template <class Enter>
task<> twice_behind_others(pool &workers, contended &here, Enter enter) {
    auto kept = enter();
    for (int i = 0; i < 2; i++) {
        spawn(workers, hold(here));
        co_await yield();
        if constexpr (std::is_same_v<decltype(kept), mutex::limited_lock_awaiter>) {
            EXPECT_TRUE(co_await kept);
            here.enter();
            co_await let_others_run();
            here.leave();
            co_await here.guard.unlock();
        } else {
            co_await kept;
        }
    }
    co_await here.guard.lock(); // the owner before has left
    co_await here.guard.unlock();
}

TEST(CoroAwaitedAgain, AMutexLetsOneInAtATime) {
    contended here;
    pool workers(1);
    sync_wait(workers, twice_behind_others(workers, here, [&] { return here.guard.try_lock_for(1h); }));
    EXPECT_FALSE(here.overlapped);
}

TEST(CoroAwaitedAgain, ASectionRunsAgainWhileNobodyElseIsInside) {
    contended here;
    pool workers(1);
    int runs = 0;
    auto section = [&] {
        here.enter();
        runs++;
        here.leave();
    };
    sync_wait(workers, twice_behind_others(workers, here, [&] { return here.guard.with(section); }));
    EXPECT_FALSE(here.overlapped);
    EXPECT_EQ(runs, 2);
}

task<> acquire(counting_semaphore &permits, int &got) {
    co_await permits.acquire();
    got++;
}

task<> release_twice(pool &workers, counting_semaphore &permits, int &got) {
    auto kept = permits.release();
    for (int i = 0; i < 2; i++) {
        spawn(workers, acquire(permits, got));
        co_await let_others_run();
        co_await kept;
    }
    co_await let_others_run();
}

TEST(CoroAwaitedAgain, AReleaseLetsAnotherGoOn) {
    counting_semaphore permits(0);
    int got = 0;
    pool workers(1);
    sync_wait(workers, release_twice(workers, permits, got));
    EXPECT_EQ(got, 2);
}

task<> notify_once(mutex &guard, condition_variable &changed, int &notified) {
    scoped_lock held = co_await guard.scoped_lock();
    notified++;
    co_await held.unlock();
    changed.notify_one();
}

task<> wait_twice(pool &workers, mutex &guard, condition_variable &changed) {
    int notified = 0;
    scoped_lock held = co_await guard.scoped_lock();
    auto kept = changed.wait_for(held, 1h);
    for (int i = 1; i <= 2; i++) {
        spawn(workers, notify_once(guard, changed, notified));
        EXPECT_TRUE(co_await kept);
        EXPECT_TRUE(held.owns_lock());
        EXPECT_EQ(notified, i);
    }
    co_await held.unlock();
    co_await let_others_run();
}

TEST(CoroAwaitedAgain, AConditionIsWaitedForAgain) {
    mutex guard;
    condition_variable changed;
    pool workers(1);
    sync_wait(workers, wait_twice(workers, guard, changed));
}

task<> send_twice(channel<std::unique_ptr<int>> &to) {
    auto kept = to.send(std::make_unique<int>(7));
    EXPECT_TRUE(co_await kept);
    EXPECT_FALSE(co_await kept) << "sent what is no longer there";
}

TEST(CoroAwaitedAgain, ASendHasNothingLeft) {
    channel<std::unique_ptr<int>> queue(2);
    pool workers(1);
    sync_wait(workers, send_twice(queue));
    EXPECT_EQ(*queue.try_receive().value(), 7);
    EXPECT_FALSE(queue.try_receive());
}

} // namespace
