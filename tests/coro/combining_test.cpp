// SPDX-License-Identifier: MIT OR Apache-2.0
// coro.M5: whose function runs where. With one worker, what is not combined runs when the coroutine that unlocks is
// suspended the next time. Shown able to fail: with next_owner() in unlock_by(), the first two; without combine(), or
// with choose_or_release() in unlock_resumed(), the last.
#include <gtest/gtest.h>

#include "coro/let_others_run.hpp"
#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;

struct scene {
    mutex guard;
    bool amid_unlock = false; // true: here a lock of the unlocker's own, which the function wants, would hang both
    int ran_amid_unlock = 0;
    int ran = 0;
};

task<> run_section(scene &here) {
    co_await here.guard.with([&] {
        here.ran++;
        here.ran_amid_unlock += here.amid_unlock;
    });
}

constexpr int sections = 2;

using unlocking = task<> (*)(scene &here, scoped_lock held);

// Unlocks a guard behind which functions wait.
task<> unlock_before_sections(pool &workers, scene &here, unlocking unlock) {
    scoped_lock held = co_await here.guard.scoped_lock();
    for (int i = 0; i < sections; i++)
        spawn(workers, run_section(here));
    co_await let_others_run();
    here.amid_unlock = true;
    co_await unlock(here, std::move(held));
    here.amid_unlock = false;
    co_await let_others_run();
}

void expect_run_amid(unlocking unlock, int expected) {
    scene here;
    pool workers(1);
    sync_wait(workers, unlock_before_sections(workers, here, unlock));
    EXPECT_EQ(here.ran, sections);
    EXPECT_EQ(here.ran_amid_unlock, expected);
}

task<> unlock_by_destructor(scene &here, scoped_lock held) {
    { scoped_lock gone = std::move(held); }
    here.amid_unlock = false;
    co_return;
}

TEST(CoroCombining, ADestructorRunsNoFunctionOfOthers) {
    expect_run_amid(unlock_by_destructor, 0);
}

task<> unlock_unsuspended(scene &here, scoped_lock held) {
    held.release()->unlock_unsuspended();
    here.amid_unlock = false;
    co_return;
}

TEST(CoroCombining, AnUnlockThatDoesNotSuspendRunsNoFunctionOfOthers) {
    expect_run_amid(unlock_unsuspended, 0);
}

task<> unlock_awaited(scene &, scoped_lock held) {
    co_await held.unlock();
}

TEST(CoroCombining, AnUnlockThatIsAwaitedRunsThem) {
    expect_run_amid(unlock_awaited, sections);
}

// The first of the functions behind a destructor is run by its own caller, and those behind it on its way.
task<> count_those_behind(scene &here, int &behind) {
    int before = 0;
    co_await here.guard.with([&] { before = here.ran; });
    behind = here.ran - before;
}

task<> unlock_before_a_count(pool &workers, scene &here, int &behind) {
    scoped_lock held = co_await here.guard.scoped_lock();
    spawn(workers, count_those_behind(here, behind));
    co_await let_others_run();
    for (int i = 0; i < 3; i++)
        spawn(workers, run_section(here));
    co_await let_others_run();
    held = scoped_lock();
    co_await let_others_run();
}

TEST(CoroCombining, TheOwnerThatADestructorLetInCombines) {
    scene here;
    pool workers(1);
    int behind = 0;
    sync_wait(workers, unlock_before_a_count(workers, here, behind));
    EXPECT_EQ(here.ran, 3);
    EXPECT_EQ(behind, 3);
}

} // namespace
