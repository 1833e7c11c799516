// SPDX-License-Identifier: MIT OR Apache-2.0
// with() within limits: the function runs once and its result comes back, or it never runs; a task that waits behind is
// not forgotten.
//
// Shown able to fail, each by the tests named:
//   takes no notice of limits that have passed      DoesNotWaitWhereItNeedNot
//   says that it ran when it did not                NeverRunsWhereALimitWasReached, GivesUpWhileItWaits
//   runs as an owner after it was cancelled         the library's checks
//   keeps the result of the wait before, or that    IsAskedAgain
//     it ran then
//   is not taken out when its frame is destroyed    IsDestroyedWhileItWaits (crashes)
//   no closure for owners that combine              RunsOnTheThreadOfAnOwnerBefore
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "coro/let_others_run.hpp"
#include "coro/started_by_hand.hpp"
#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

TEST(CoroLimitedSection, GivesWhatTheFunctionReturned) {
    pool worker(1u);
    mutex guard;
    auto run = [&]() -> task<> {
        std::optional<std::string> text = co_await guard.try_with_for(1h, [] { return std::string("inside"); });
        EXPECT_EQ(text, "inside");
        std::optional<std::unique_ptr<int>> moved = co_await guard.try_with([] { return std::make_unique<int>(7); });
        EXPECT_EQ(**moved, 7);
        bool ran = co_await guard.with([] {}, std::stop_token());
        EXPECT_TRUE(ran);
        auto deadline = deadline_clock::now() + 1h;
        std::optional<bool> answer = co_await guard.try_with_until(deadline, [] { return false; });
        EXPECT_EQ(answer, false);
        bool thrown = false;
        try {
            co_await guard.try_with([] { throw std::runtime_error("amid a section"); });
        } catch (const std::runtime_error &) {
            thrown = true;
        }
        EXPECT_TRUE(thrown);
    };
    sync_wait(worker, run());
    EXPECT_TRUE(guard.try_lock());
}

TEST(CoroLimitedSection, NeverRunsWhereALimitWasReached) {
    pool worker(1u);
    mutex guard;
    std::stop_source stop;
    stop.request_stop();
    int ran = 0;
    auto run = [&]() -> task<> {
        auto held = co_await guard.scoped_lock();
        std::optional<int> at_once = co_await guard.try_with([&] { return ++ran; });
        EXPECT_FALSE(at_once);
        bool in_time = co_await guard.try_with_for(1ms, [&] { ran++; });
        EXPECT_FALSE(in_time);
        bool unstopped = co_await guard.with([&] { ran++; }, stop.get_token());
        EXPECT_FALSE(unstopped);
        co_await held.unlock();
        bool free = co_await guard.with([&] { ran += 100; }, stop.get_token());
        EXPECT_TRUE(free) << "it did not have to wait";
    };
    sync_wait(worker, run());
    EXPECT_EQ(ran, 100);
    EXPECT_TRUE(guard.try_lock());
}

// One behind another; the first gives up, those behind it get the mutex.
TEST(CoroLimitedSection, GivesUpWhileItWaits) {
    pool worker(1u);
    mutex guard;
    std::stop_source stop;
    int ran = 0, gave_up = 0;
    auto impatient = [&]() -> task<> {
        bool inside = co_await guard.with([&] { ran += 100; }, stop.get_token());
        gave_up += !inside;
    };
    auto patient = [&]() -> task<> { co_await guard.with([&] { ran++; }); };
    auto run = [&]() -> task<> {
        auto held = co_await guard.scoped_lock();
        spawn(worker, impatient);
        spawn(worker, patient);
        spawn(worker, impatient);
        co_await let_others_run();
        stop.request_stop();
        co_await let_others_run();
        EXPECT_EQ(gave_up, 2);
        co_await held.unlock();
        co_await let_others_run();
    };
    sync_wait(worker, run());
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(guard.try_lock());
}

template <policy Policy>
void expect_that_sections_run_while_others_unlock(bool expected) {
    pool worker(1u);
    basic_mutex<Policy> guard;
    bool unlocking = false;
    int ran = 0, while_unlocking = 0, answers = 0;
    auto ask = [&]() -> task<> {
        std::optional<int> answer = co_await guard.try_with_for(1h, [&] {
            while_unlocking += unlocking;
            return ++ran;
        });
        answers += answer.value_or(0);
    };
    auto run = [&]() -> task<> {
        auto held = co_await guard.scoped_lock();
        spawn(worker, ask);
        spawn(worker, ask);
        co_await let_others_run();
        unlocking = true;
        co_await held.unlock();
        unlocking = false;
        co_await let_others_run();
    };
    sync_wait(worker, run());
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(answers, 1 + 2);
    EXPECT_EQ(while_unlocking, expected ? 2 : 0);
    EXPECT_TRUE(guard.try_lock());
}

TEST(CoroLimitedSection, RunsOnTheThreadOfAnOwnerBefore) {
    expect_that_sections_run_while_others_unlock<policy::ces>(true);
}
TEST(CoroLimitedSection, RunsByItsOwnerUnderDispatch) {
    expect_that_sections_run_while_others_unlock<policy::dispatch>(false);
}

// coro.W5.
TEST(CoroLimitedSection, IsAskedAgain) {
    pool worker(1u);
    mutex guard;
    std::stop_source stop;
    int ran = 0;
    auto run = [&]() -> task<> {
        auto kept = guard.with([&] { return ++ran; }, stop.get_token());
        auto kept_too = guard.with([&] { ran++; }, stop.get_token());
        std::optional<int> first = co_await kept;
        EXPECT_EQ(first, 1);
        bool first_too = co_await kept_too;
        EXPECT_TRUE(first_too);
        stop.request_stop();
        auto held = co_await guard.scoped_lock();
        std::optional<int> second = co_await kept;
        EXPECT_FALSE(second);
        bool second_too = co_await kept_too;
        EXPECT_FALSE(second_too);
        co_await held.unlock();
        std::optional<int> third = co_await kept;
        EXPECT_EQ(third, 3);
    };
    sync_wait(worker, run());
}

// On no executor nobody would keep a time limit: it must not wait for one.
TEST(CoroLimitedSection, DoesNotWaitWhereItNeedNot) {
    mutex guard;
    ASSERT_TRUE(guard.try_lock());
    bool said = false;
    auto ask = [&]() -> started_by_hand {
        bool at_once = co_await guard.try_with([] {});
        EXPECT_FALSE(at_once);
        bool too_late = co_await guard.try_with_for(0ms, [] {});
        EXPECT_FALSE(too_late);
        said = true;
    };
    ask();
    EXPECT_TRUE(said);
    guard.unlock_unsuspended();
}

TEST(CoroLimitedSection, IsDestroyedWhileItWaits) {
    mutex guard;
    ASSERT_TRUE(guard.try_lock());
    std::atomic<int> come = 0;
    bool ran = false;
    {
        pool worker(1u);
        auto wait = [&]() -> task<> {
            come++;
            static_cast<void>(co_await guard.try_with_for(1h, [&] { ran = true; }));
        };
        spawn(worker, wait);
        auto see = [&]() -> task<> { co_await let_others_run(); };
        sync_wait(worker, see());
        EXPECT_EQ(come, 1);
    }
    guard.unlock_unsuspended();
    EXPECT_TRUE(guard.try_lock()) << "somebody still waits";
    EXPECT_FALSE(ran);
}

static_assert(std::is_same_v<mutex::section_awaiter<int (*)()>::result_type, int>);
static_assert(std::is_same_v<mutex::limited_section_awaiter<int (*)()>::result_type, std::optional<int>>);
static_assert(std::is_same_v<mutex::limited_section_awaiter<void (*)()>::result_type, bool>);

} // namespace
