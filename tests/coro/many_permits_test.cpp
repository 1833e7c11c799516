// SPDX-License-Identifier: MIT OR Apache-2.0
// Tasks that acquire several permits at once: first come, first served, whatever each wants (coro.S1 to S3).
//
// Shown able to fail: see docs/coroutines-checks.md.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>

#include "coro/gathering.hpp"
#include "coro/let_others_run.hpp"
#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

// The tasks that have acquired, in their order, on a pool of one worker.
template <policy Policy>
struct line_of {
    basic_semaphore<Policy> permits;
    std::string order;
    std::stop_source stop;
    gathering all;
    pool worker{1}; // ends first

    explicit line_of(std::size_t at_first) : permits(at_first) {}

    task<> acquire(char name, std::size_t wanted) {
        co_await permits.acquire(wanted);
        order += name;
    }
    task<> give_up(char name, std::size_t wanted) {
        bool got = co_await permits.acquire(wanted, stop.get_token());
        order += got ? name : '!';
    }
    // Runs it on the worker, after those before it have come to where they wait.
    void then(task<> one) {
        auto alone = [](task<> what) -> task<> {
            co_await std::move(what);
            co_await let_others_run();
        };
        sync_wait(worker, alone(std::move(one)));
    }
    void come(char name, std::size_t wanted) { then_spawn(acquire(name, wanted)); }
    void then_spawn(task<> one) {
        all.add(worker, std::move(one));
        then(let_others_run());
    }
    void release(std::size_t so_many) {
        auto give = [](line_of &self, std::size_t how_many) -> task<> { co_await self.permits.release(how_many); };
        then(give(*this, so_many));
    }
    // Those that one release lets in run in any order.
    std::string in_any_order() const {
        std::string sorted = order;
        std::sort(sorted.begin(), sorted.end());
        return sorted;
    }
};

template <class Line>
class CoroManyPermits : public testing::Test {};
using every_line = testing::Types<line_of<policy::ces>, line_of<policy::dispatch>, line_of<policy::inline_>>;
TYPED_TEST_SUITE(CoroManyPermits, every_line);

TYPED_TEST(CoroManyPermits, AreAcquiredAtOnceOrNotAtAll) {
    TypeParam here(5);
    here.come('a', 3);
    EXPECT_EQ(here.order, "a");
    EXPECT_FALSE(here.permits.try_acquire(3));
    EXPECT_TRUE(here.permits.try_acquire(2));
    here.come('b', 3);
    here.release(2);
    EXPECT_EQ(here.order, "a");
    here.release(1);
    EXPECT_EQ(here.order, "ab");
    EXPECT_FALSE(here.permits.try_acquire());
}

TYPED_TEST(CoroManyPermits, ALargeRequestInFrontIsNotPassed) {
    TypeParam here(2);
    here.come('L', 4);
    here.come('s', 1);
    EXPECT_FALSE(here.permits.try_acquire());
    EXPECT_EQ(here.order, "");
    here.release(1);
    EXPECT_EQ(here.order, "");
    here.release(1);
    EXPECT_EQ(here.order, "L");
    here.release(1);
    EXPECT_EQ(here.order, "Ls");
}

TYPED_TEST(CoroManyPermits, OneReleaseLetsInAsManyAsCanBe) {
    TypeParam here(0);
    here.come('a', 2);
    here.come('b', 1);
    here.come('c', 3);
    here.come('d', 1);
    here.release(4);
    EXPECT_EQ(here.in_any_order(), "ab"); // one is left, but `c` wants three
    here.release(5);
    EXPECT_EQ(here.in_any_order(), "abcd");
    EXPECT_TRUE(here.permits.try_acquire(2) && !here.permits.try_acquire());
}

TYPED_TEST(CoroManyPermits, ALargeRequestThatIsStoppedLetsThoseBehindItGoAtOnce) {
    TypeParam here(2);
    here.then_spawn(here.give_up('L', 4));
    here.come('a', 1);
    here.come('b', 1);
    here.come('c', 1);
    EXPECT_EQ(here.order, "");
    here.stop.request_stop();
    here.then(let_others_run());
    here.release(0); // the last of them may be on its way
    EXPECT_EQ(here.order.size(), 3u);
    EXPECT_NE(here.order.find('!'), std::string::npos);
    EXPECT_LT(here.order.find('a'), here.order.find('b'));
    EXPECT_EQ(here.order.find('c'), std::string::npos);
    here.release(1);
    EXPECT_EQ(here.order.size(), 4u);
}

TYPED_TEST(CoroManyPermits, ALargeRequestWhoseTimeIsOverLetsThoseBehindItGoAtOnce) {
    TypeParam here(1);
    std::atomic<int> large = 0, small = 0;
    auto wait_for_many = [&]() -> task<> {
        bool got = co_await here.permits.try_acquire_for(2, 20ms);
        large = got ? 1 : 2;
    };
    auto wait_for_one = [&]() -> task<> {
        co_await here.permits.acquire();
        small++;
    };
    here.then_spawn(wait_for_many());
    here.then_spawn(wait_for_one());
    here.all.wait(); // no release
    EXPECT_EQ(large, 2);
    EXPECT_EQ(small, 1);
}

TYPED_TEST(CoroManyPermits, ALargeRequestWhosePoolEndsLetsThoseBehindItGoAtOnce) {
    TypeParam here(1);
    auto goes = std::make_unique<pool>(1);
    std::atomic<bool> waits = false;
    auto wait_for_many = [&]() -> task<> {
        waits = true;
        co_await here.permits.acquire(2);
    };
    spawn(*goes, wait_for_many());
    while (!waits)
        std::this_thread::yield();
    while (here.permits.try_acquire()) // until that one is in the line: `waits` was said before that
        here.permits.release_unsuspended();
    here.come('s', 1);
    EXPECT_EQ(here.order, "");
    goes.reset();
    here.all.wait();
    EXPECT_EQ(here.order, "s");
}

TYPED_TEST(CoroManyPermits, AGuardHasAsManyAsWereAcquired) {
    TypeParam here(6);
    auto guards = [&]() -> task<> {
        auto three = co_await here.permits.scoped_acquire(3);
        EXPECT_EQ(three.permits(), 3u);
        auto one = co_await here.permits.scoped_acquire();
        EXPECT_EQ(one.permits(), 1u);
        auto none = co_await here.permits.try_scoped_acquire_for(3, 1ms);
        EXPECT_FALSE(none);
        EXPECT_EQ(none.permits(), 0u);
        auto two = co_await here.permits.try_scoped_acquire_until(2, std::chrono::steady_clock::now() + 1h);
        EXPECT_EQ(two.permits(), 2u);
        EXPECT_FALSE(here.permits.try_acquire());
        one = std::move(three); // gives one back
        EXPECT_EQ(one.permits(), 3u);
        EXPECT_TRUE(here.permits.try_acquire(1) && !here.permits.try_acquire());
        co_await one.unlock();
        EXPECT_TRUE(here.permits.try_acquire(3));
        auto adopted = typename decltype(here.permits)::scoped_permit_type(here.permits, std::adopt_lock, 4);
        auto with_token = co_await here.permits.scoped_acquire(3, [] {
            std::stop_source stop;
            stop.request_stop();
            return stop.get_token();
        }());
        EXPECT_FALSE(with_token);
    };
    here.then(guards());
    EXPECT_TRUE(here.permits.try_acquire(6) && !here.permits.try_acquire());
}

TYPED_TEST(CoroManyPermits, NoneAreThereAtOnceButNotPastOthers) {
    TypeParam here(0);
    EXPECT_TRUE(here.permits.try_acquire(0));
    here.come('a', 0);
    EXPECT_EQ(here.order, "a");
    here.come('b', 1);
    here.come('c', 0);
    EXPECT_EQ(here.order, "a");
    EXPECT_FALSE(here.permits.try_acquire(0));
    here.release(1);
    EXPECT_EQ(here.in_any_order(), "abc");
}

} // namespace
