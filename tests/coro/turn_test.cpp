// SPDX-License-Identifier: MIT OR Apache-2.0
// A coroutine that never has to wait for its lock is suspended all the same, when others are ready (turn.hpp).
// Shown able to fail: with pool::waiting() always `nobody` the first four tests give up; with `rotated` taken for
// `nobody` the next does; without turn_is_over() in waited_on.hpp those of the reader and the semaphore do.
#include "holdfast/coro/detail/turn.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/semaphore.hpp"
#include "holdfast/coro/shared_mutex.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;

// Generous: this is for a test that fails.
class patience {
public:
    bool at_end() const { return std::chrono::steady_clock::now() > end_; }

private:
    std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(200);
};

task<> set(bool &flag) {
    flag = true;
    co_return;
}

// With one worker, `set` runs only when the caller is suspended. `enter` and `leave` are what to await.
template <class Enter, class Leave>
task<bool> goes_through_until_another_runs(pool &workers, Enter enter, Leave leave) {
    patience left;
    bool other_ran = false;
    spawn(workers, set(other_ran));
    while (!other_ran && !left.at_end()) {
        co_await enter();
        co_await leave();
    }
    co_return other_ran;
}

task<bool> works_under_lock_until_another_runs(pool &workers) {
    mutex free;
    patience left;
    bool other_ran = false;
    spawn(workers, set(other_ran));
    while (!other_ran && !left.at_end())
        co_await free.with([] {});
    co_return other_ran;
}

TEST(CoroTurn, EndsForAReadyTask) {
    pool workers(1);
    mutex free;
    auto enter = [&] { return free.lock(); };
    auto leave = [&] { return free.unlock(); };
    EXPECT_TRUE(sync_wait(workers, goes_through_until_another_runs(workers, enter, leave)));
}

TEST(CoroTurn, EndsForAReadyTaskUnderWith) {
    pool workers(1);
    EXPECT_TRUE(sync_wait(workers, works_under_lock_until_another_runs(workers)));
}

TEST(CoroTurn, EndsForAReadyTaskBehindAReader) {
    pool workers(1);
    shared_mutex free;
    auto enter = [&] { return free.lock_shared(); };
    auto leave = [&] { return free.unlock_shared(); };
    EXPECT_TRUE(sync_wait(workers, goes_through_until_another_runs(workers, enter, leave)));
}

TEST(CoroTurn, EndsForAReadyTaskBehindASemaphore) {
    pool workers(1);
    counting_semaphore free(1);
    auto enter = [&] { return free.acquire(); };
    auto leave = [&] { return free.release(); };
    EXPECT_TRUE(sync_wait(workers, goes_through_until_another_runs(workers, enter, leave)));
}

struct stage {
    mutex free;
    int runs = 0;    // who ran last
    int changes = 0; // how often that was another one
    int ended = 0;
};

constexpr int changes_enough = 20;

task<> takes_turns(stage &on, int number) {
    patience left;
    while (on.changes < changes_enough && !left.at_end()) {
        if (on.runs != number) {
            on.runs = number;
            on.changes++;
        }
        co_await on.free.lock();
        co_await on.free.unlock();
    }
    on.ended++;
}

task<> starts_two(pool &workers, stage &on) {
    spawn(workers, takes_turns(on, 1));
    spawn(workers, takes_turns(on, 2));
    while (on.ended < 2)
        co_await yield();
}

task<> takes_turns_with(pool &workers, stage &on) {
    spawn(workers, takes_turns(on, 1));
    co_await takes_turns(on, 2);
    while (on.ended < 2)
        co_await yield();
}

TEST(CoroTurn, EndsForTasksThatHaveHadTheirs) {
    pool workers(1);
    stage on;
    sync_wait(workers, takes_turns_with(workers, on));
    EXPECT_GE(on.changes, changes_enough);
}

TEST(CoroTurn, EndsForSeveral) {
    pool workers(1);
    stage on;
    sync_wait(workers, starts_two(workers, on));
    EXPECT_GE(on.changes, changes_enough);
}

// Suspends the caller and puts it back into the queue that `put` names.
struct put_back {
    void (executor_base::*put)(std::coroutine_handle<>) noexcept;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const noexcept { (current_context()->home->*put)(self); }
    void await_resume() const noexcept {}
};

struct crowded {
    bool guest_ran = false;
    int there = 0;
};

task<> comes_back(crowded &here, put_back again) {
    patience left;
    here.there++;
    while (!here.guest_ran && !left.at_end())
        co_await again;
    here.there--;
}

task<bool> waits_behind_owners_and_others(pool &workers, int takes_before) {
    crowded here;
    for (int i = 0; i < takes_before; i++)
        co_await yield();
    for (int i = 0; i < 2; i++) {
        spawn(workers, comes_back(here, {&executor_base::schedule_urgent}));
        spawn(workers, comes_back(here, {&executor_base::schedule}));
    }
    while (here.there < 4)
        co_await put_back{&executor_base::schedule};
    co_await yield(); // into the queue of all, behind nobody
    here.guest_ran = here.there == 4;
    bool ran = here.guest_ran;
    while (here.there > 0)
        co_await yield();
    co_return ran;
}

// One worker, whose own queue is never empty and a task that always finds owners. With a chain of 16 each 16th of what
// it takes is not an owner, which must not always be the same of the 16 after which it looks into the queue of all.
TEST(CoroTurn, ComesForTheQueueOfAllBehindOwners) {
    for (int takes_before = 0; takes_before < 3; takes_before++) {
        pool workers(pool_options{1, 16});
        EXPECT_TRUE(sync_wait(workers, waits_behind_owners_and_others(workers, takes_before)));
    }
}

// Owners in the urgent queue, behind tasks that are always ready. With a chain of 1 they must have their turns too.
TEST(CoroTurn, OwnersRunWhereEachChainIsOfOne) {
    constexpr int owners = 3;
    int left = owners;
    mutex guard;
    pool workers(pool_options{1, 1});
    auto own = [&]() -> task<> {
        auto held = co_await guard.scoped_lock();
        for (int i = 0; i < 3; i++)
            co_await yield(); // the others come and wait
        co_await held.unlock();
        left--;
    };
    auto stay_ready = [&]() -> task<bool> {
        patience until;
        for (int i = 0; i < owners; i++)
            spawn(workers, own());
        while (left > 0 && !until.at_end())
            co_await yield();
        co_return left == 0;
    };
    EXPECT_TRUE(sync_wait(workers, stay_ready()));
}

// After an operation, as detail::turn_is_over() asks.
template <class Waiting>
bool is_over(turn &now, Waiting waiting) {
    return !now.goes_on() && now.ends(waiting);
}

// What `turn` counts, without a pool: nobody is there, so it is never over.
TEST(CoroTurn, DoesNotEndForNobody) {
    turn now;
    for (int i = 0; i < 1'000'000; i++)
        ASSERT_FALSE(is_over(now, [] { return crowd::nobody; }));
}

TEST(CoroTurn, EndsSoonerForGuests) {
    turn now;
    patience left;
    bool over = false;
    while (!over && !left.at_end())
        over = is_over(now, [] { return crowd::guests; });
    EXPECT_TRUE(over);
    EXPECT_EQ(now.operations, 0u);
}

// One with long sections, behind one with short ones.
TEST(CoroTurn, EndsSoonThoughShortSectionsWereLearnt) {
    turn now;
    for (int i = 0; i < 1'000'000; i++)
        static_cast<void>(is_over(now, [] { return crowd::nobody; }));
    now.operations = 0; // the worker takes another coroutine
    int sections = 0;
    do {
        std::this_thread::sleep_for(2 * turn_length);
        sections++;
    } while (!is_over(now, [] { return crowd::guests; }));
    EXPECT_LE(sections, 10);
}

// The clock is not read at each look; but sections that are long in themselves must not add up.
TEST(CoroTurn, EndsForTasksThatHaveHadTheirsBehindLongSections) {
    turn now;
    int sections = 0;
    do {
        // Not a sleep, which would be longer than the turn.
        auto until = std::chrono::steady_clock::now() + turn_length_max / 5;
        while (std::chrono::steady_clock::now() < until)
            continue;
        sections++;
    } while (!is_over(now, [] { return crowd::rotated; }));
    EXPECT_LE(sections, 7);
}

// Looks without the clock still see who comes.
TEST(CoroTurn, EndsForALateGuest) {
    turn now;
    for (int i = 0; i < 1'000'000; i++)
        static_cast<void>(is_over(now, [] { return crowd::nobody; }));
    std::uint32_t from = now.operations, within = 2 * now.stride;
    while (!is_over(now, [] { return crowd::guests; }))
        ASSERT_LE(now.operations - from, within);
}

} // namespace
