// SPDX-License-Identifier: MIT OR Apache-2.0
// Hand-overs, deadlines, stop requests, exceptions and closures at once, on one mutex after another, each of which is
// destroyed when the last task has ended; then a pool that ends in the middle of it. Hangs where a wake-up is lost (the
// test's time limit), and loses counts where two were inside.
//
// Shown able to fail: see docs/coroutines-checks.md.
#include <gtest/gtest.h>
#include <memory>
#include <random>

#include "coro/gathering.hpp"
#include "effort.hpp"
#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

template <policy Policy>
struct scene {
    basic_mutex<Policy> guard{mutex_options{4}};
    basic_condition_variable<Policy> changed;
    std::stop_source stop;
    long inside = 0;            // under the mutex
    std::atomic<long> done = 0; // what it must be in the end
    bool by_guard_only = false; // what holds a lock without a guard keeps it when it is destroyed
};

struct given_up : std::exception {};

template <policy Policy>
task<> one_step(scene<Policy> &at, std::minstd_rand &random) {
    switch (at.by_guard_only ? 3 + random() % 6 : random() % 9) {
    case 0:
        co_await at.guard.lock();
        at.inside++;
        if (random() % 4 == 0)
            co_await yield();
        co_await at.guard.unlock();
        break;
    case 1:
        if (!co_await at.guard.try_lock_for(std::chrono::microseconds(random() % 50)))
            co_return;
        at.inside++;
        co_await at.guard.unlock();
        break;
    case 2:
        if (!co_await at.guard.lock(at.stop.get_token()))
            co_return;
        at.inside++;
        co_await at.guard.unlock();
        break;
    case 3: co_await at.guard.with([&] { at.inside++; }); break;
    case 4: {
        auto held = co_await at.guard.scoped_lock();
        at.inside++;
        at.done++;
        throw given_up();
    }
    case 5: {
        auto held = co_await at.guard.scoped_lock();
        static_cast<void>(co_await at.changed.wait_for(held, 20us, at.stop.get_token()));
        at.inside++;
        co_await held.unlock();
        break;
    }
    case 6:
        co_await at.guard.with([&] {
            at.inside++;
            at.changed.notify_one();
        });
        break;
    case 7: {
        std::chrono::microseconds time(random() % 50);
        bool ran = co_await at.guard.try_with_for(
            time, [&] { at.inside++; }, at.stop.get_token());
        if (!ran)
            co_return;
        break;
    }
    default: {
        std::optional<long> result = co_await at.guard.with([&] { return ++at.inside; }, at.stop.get_token());
        if (!result)
            co_return;
    }
    }
    at.done++;
}

template <policy Policy>
task<> run_steps(scene<Policy> &at, unsigned seed, int steps) {
    std::minstd_rand random(seed + 1);
    for (int i = 0; i < steps; i++) {
        try {
            co_await one_step(at, random);
        } catch (const given_up &) {
        }
    }
}

template <policy Policy>
void act(unsigned workers, int tasks, int steps) {
    pool on(pool_options{workers, 8});
    for (unsigned round = 0; round < 6; round++) {
        auto at = std::make_unique<scene<Policy>>();
        gathering all;
        for (int i = 0; i < tasks; i++)
            all.add(on, run_steps(*at, round * 1000 + static_cast<unsigned>(i), steps));
        if (round % 2 == 0)
            at->stop.request_stop();
        all.wait();
        EXPECT_EQ(at->inside, at->done);
        EXPECT_TRUE(at->guard.try_lock());
    }
}

TEST(CoroStress, CesLosesNobody) {
    act<policy::ces>(2, 60, 60);
    act<policy::ces>(5, 60, 60);
}
TEST(CoroStress, DispatchLosesNobody) {
    act<policy::dispatch>(4, 60, 60);
}
TEST(CoroStress, InlineLosesNobody) {
    act<policy::inline_>(4, 60, 60);
}

TEST(CoroStress, PoolsEndInTheMiddle) {
    const auto rounds = static_cast<unsigned>(holdfast::test::effort(40, 8));
    for (unsigned round = 0; round < rounds; round++) {
        scene<policy::ces> at;
        at.by_guard_only = true;
        pool on(pool_options{3, 8});
        for (unsigned i = 0; i < 30; i++)
            spawn(on, run_steps(at, round * 100 + i, 1 << 30));
        while (at.done < 20 * static_cast<long>(round % 8))
            std::this_thread::yield();
        on.shutdown();
        EXPECT_TRUE(at.guard.try_lock());
    }
}

// Many tasks that wait for one mutex at once: no recursion when they are let go, and none is forgotten.
TEST(CoroStress, AHundredThousandWait) {
    const int tasks = holdfast::test::effort(100'000, 10'000);
    pool on(2u);
    mutex guard;
    long inside = 0;
    gathering all;
    ASSERT_TRUE(guard.try_lock());
    auto come = [&](int i) -> task<> {
        if (i % 2 == 0)
            co_await guard.with([&] { inside++; });
        else {
            co_await guard.lock();
            inside++;
            co_await guard.unlock();
        }
    };
    for (int i = 0; i < tasks; i++)
        all.add(on, come(i));
    guard.unlock_unsuspended();
    all.wait();
    EXPECT_EQ(inside, tasks);
}

} // namespace
