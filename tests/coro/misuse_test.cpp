// SPDX-License-Identifier: MIT OR Apache-2.0
// What a debug build says to a caller that does not keep to what a function requires (checks.hpp). Without its check
// each of these waits for ever, uses memory that is not there, or goes on with wrong counts. Seen to fail without the
// checks (-DNDEBUG): all but that of sync_wait, which on a pool of one worker is there in any build.
#include <gtest/gtest.h>
#include <optional>

#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

struct coro_misuse : testing::Test {
    coro_misuse() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

template <class Begin>
void run(Begin begin) {
    pool worker(1u);
    sync_wait(worker, begin());
}

TEST_F(coro_misuse, AMutexThatNobodyHasIsUnlocked) {
    mutex guard;
    EXPECT_DEATH(run([&]() -> task<> { co_await guard.unlock(); }), "unlocked that nobody has");
}

TEST_F(coro_misuse, AGuardIsUnlockedTwice) {
    mutex guard;
    auto twice = [&]() -> task<> {
        auto held = co_await guard.scoped_lock();
        co_await held.unlock();
        co_await held.unlock();
    };
    EXPECT_DEATH(run(twice), "that it does not have");
}

TEST_F(coro_misuse, AConditionVariableIsWaitedForWithoutItsMutex) {
    condition_variable changed;
    auto wait = [&]() -> task<> {
        scoped_lock none;
        co_await changed.wait(none);
    };
    EXPECT_DEATH(run(wait), "waited for without its mutex");
}

TEST_F(coro_misuse, AReaderWriterMutexIsUnlockedTheOtherWay) {
    shared_mutex guard;
    auto write = [&]() -> task<> {
        co_await guard.lock();
        co_await guard.unlock_shared();
    };
    EXPECT_DEATH(run(write), "unlocked that nobody has so");
    auto read = [&]() -> task<> {
        co_await guard.lock_shared();
        co_await guard.unlock();
    };
    EXPECT_DEATH(run(read), "unlocked that nobody has so");
}

TEST_F(coro_misuse, ATaskIsAwaitedThatIsNone) {
    auto await_none = []() -> task<> { co_await task<>(); };
    EXPECT_DEATH(run(await_none), "a task is awaited that is empty");
    auto await_twice = []() -> task<> {
        auto nothing = []() -> task<> { co_return; };
        task<> one = nothing();
        co_await std::move(one);
        co_await std::move(one);
    };
    EXPECT_DEATH(run(await_twice), "or has ended");
}

TEST_F(coro_misuse, ATaskIsWaitedForByTheWorkerThatItNeeds) {
    auto wait = []() -> task<> {
        auto nothing = []() -> task<> { co_return; };
        pool *none = static_cast<pool *>(current_context()->home);
        sync_wait(*none, nothing());
        co_return;
    };
    EXPECT_DEATH(run(wait), "co_await the task instead");
}

TEST_F(coro_misuse, CountsPassTheirEnds) {
    auto begin_below_0 = [] { counting_semaphore permits(static_cast<std::size_t>(-1)); };
    EXPECT_DEATH(begin_below_0(), "a negative number");
    counting_semaphore full(PTRDIFF_MAX);
    EXPECT_DEATH(full.release_unsuspended(1), "more permits than it can count");
    latch twice(2);
    EXPECT_DEATH(twice.count_down(3), "counted down below 0");
}

TEST_F(coro_misuse, AMutexIsDestroyedWhileSomebodyWaits) {
    auto destroy = [] {
        pool worker(1u);
        std::optional<mutex> guard(std::in_place);
        auto wait = [&]() -> task<> { co_await guard->lock(); };
        EXPECT_TRUE(guard->try_lock());
        spawn(worker, wait());
        auto let_it_wait = []() -> task<> { co_await yield(); };
        sync_wait(worker, let_it_wait());
        guard.reset();
    };
    EXPECT_DEATH(destroy(), "destroyed while somebody waits");
}

} // namespace
