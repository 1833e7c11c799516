// SPDX-License-Identifier: MIT OR Apache-2.0
// Awaited notifications (coro.C4): the notified task gets the mutex and the thread at once; and notifications that are
// not awaited are what they were.
//
// Shown able to fail: see docs/coroutines-checks.md.
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "coro/gathering.hpp"
#include "coro/let_others_run.hpp"
#include "coro/two_and_a_third.hpp"
#include "holdfast/coro/coro.hpp"
#include "holdfast/coro/executors/posting_executor.hpp"
#include "holdfast/coro/statistics.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

// On one worker: some tasks wait for a condition, each of which writes its letter when it goes on; `notify` is a task
// that writes, too; one that is merely ready writes a dot. Gives what was written.
template <policy Policy>
struct order_of {
    basic_mutex<Policy> guard;
    basic_condition_variable<Policy> changed;
    std::string order;
    pool worker{1};
    gathering all;

    task<> wait(char name) {
        auto held = co_await guard.scoped_lock();
        co_await changed.wait(held);
        order += name;
        co_await held.unlock();
    }
    task<> merely_ready() {
        order += '.';
        co_return;
    }
    template <class Notify>
    std::string after(int waiters, Notify notify) {
        auto lead = [&]() -> task<> {
            for (int i = 0; i < waiters; i++)
                all.add(worker, wait(static_cast<char>('a' + i)));
            co_await let_others_run();
            all.add(worker, merely_ready());
            co_await notify();
            order += '!';
        };
        all.add(worker, lead());
        all.wait();
        return order;
    }
};

template <policy Policy>
std::string order_after_one() {
    order_of<Policy> here;
    return here.after(1, [&]() -> task<> { co_await here.changed.notify_one(); });
}

TEST(CoroNotification, GivesTheThreadToTheNotifiedAtOnce) {
    EXPECT_EQ(order_after_one<policy::ces>(), "a!.");
    EXPECT_EQ(order_after_one<policy::inline_>(), "a!.");
    EXPECT_EQ(order_after_one<policy::dispatch>(), "!.a");
}

TEST(CoroNotification, OfAllGivesItToTheFirstWhoseUnlocksLetTheOthersIn) {
    order_of<policy::ces> here;
    EXPECT_EQ(here.after(4, [&]() -> task<> { co_await here.changed.notify_all(); }), "abcd!.");
}

TEST(CoroNotification, OfOneLeavesTheOthers) {
    order_of<policy::ces> here;
    auto one_by_one = [&]() -> task<> {
        co_await here.changed.notify_one();
        here.order += '1';
        co_await here.changed.notify_one();
        here.order += '2';
        co_await here.changed.notify_one(); // nobody
    };
    EXPECT_EQ(here.after(2, one_by_one), "a1b2!.");
}

// The notified one can't run, so it waits for the mutex, and its unlock hands the thread over.
TEST(CoroNotification, GoesOnWhereTheMutexIsHeld) {
    order_of<policy::ces> here;
    auto inside = [&]() -> task<> {
        auto held = co_await here.guard.scoped_lock();
        co_await here.changed.notify_all();
        here.order += '-';
        co_await held.unlock();
    };
    EXPECT_EQ(here.after(2, inside), "-ab!.");
}

TEST(CoroNotification, IsAStatementThatNeedNotBeAwaited) {
    order_of<policy::ces> here;
    auto plain = [&]() -> task<> {
        here.changed.notify_one();
        here.changed.notify_all();
        here.order += '-';
        co_return;
    };
    EXPECT_EQ(here.after(3, plain), "-!abc.");
}

TEST(CoroNotification, IsMadeWhereItsResultEnds) {
    order_of<policy::ces> here;
    auto kept = [&]() -> task<> {
        {
            auto later = here.changed.notify_one();
            co_await let_others_run();
            here.order += '-';
        }
        co_await let_others_run();
    };
    EXPECT_EQ(here.after(1, kept), ".-a!");
}

TEST(CoroNotification, IsMadeAgainWhenItIsAwaitedAgain) {
    order_of<policy::ces> here;
    auto twice = [&]() -> task<> {
        auto notification = here.changed.notify_one();
        co_await notification;
        here.order += '1';
        co_await notification;
        here.order += '2';
    };
    EXPECT_EQ(here.after(2, twice), "a1b2!.");
}

// Each stays on its executor: the notified task is queued there, and the notifier goes on.
TEST(CoroNotification, DoesNotMoveATaskToAnotherExecutor) {
    pool theirs(1), ours(1);
    mutex guard;
    condition_variable changed;
    std::atomic<bool> waiting = false, stayed = false;
    gathering all;
    auto wait = [&]() -> task<> {
        auto held = co_await guard.scoped_lock();
        waiting = true;
        co_await changed.wait(held);
        stayed = current_context()->home == &theirs;
    };
    all.add(theirs, wait());
    auto notify = [&]() -> task<> {
        while (!waiting)
            co_await yield();
        { auto held = co_await guard.scoped_lock(); } // it waits
        co_await changed.notify_one();
        EXPECT_EQ(current_context()->home, &ours);
    };
    sync_wait(ours, notify());
    all.wait();
    EXPECT_TRUE(stayed);
}

primitive_counts counts_of(const void *address) {
    for (const primitive_counts &one : statistics::read())
        if (one.address == address)
            return one;
    return {};
}

TEST(CoroNotification, IsCounted) {
    statistics::reset();
    statistics::count(true);
    order_of<policy::ces> here;
    auto notify = [&]() -> task<> {
        co_await here.changed.notify_one();
        here.changed.notify_one();
        co_await let_others_run();
        co_await here.changed.notify_all(); // two: one of them by an unlock
    };
    here.after(4, notify);
    statistics::count(false);
    primitive_counts counts = counts_of(&here.changed);
    EXPECT_EQ(counts.by(passage::notified), 2u);
    EXPECT_EQ(counts.by(passage::queued), 1u);
    EXPECT_EQ(counts.by(passage::at_once), 1u);
    EXPECT_EQ(counts.hand_overs(), 4u);
}

// Two that give the thread to each other by notifications alone.
TEST(CoroNotification, ChainsEndForTheSakeOfOthers) {
    constexpr int moves_max = 1'000'000;
    mutex guard;
    condition_variable changed;
    int turn = 0, moves = 0;
    bool over = false;
    auto play = [&](int me) -> task<> {
        while (!over && moves < moves_max) {
            {
                auto held = co_await guard.scoped_lock();
                co_await changed.wait(held, [&] { return turn == me || over || moves >= moves_max; });
                moves++;
                turn = 1 - me;
            }
            co_await changed.notify_one();
        }
        co_await changed.notify_all();
    };
    play_until_a_third_ends_it(play, over);
    EXPECT_LT(moves, moves_max);
}

// The last that was notified destroys both, while the notifier is still on its way. For AddressSanitizer.
TEST(CoroNotification, TheLastNotifiedMayDestroyAll) {
    struct place {
        mutex guard;
        condition_variable changed;
    };
    pool workers(2);
    for (int round = 0; round < 2000; round++) {
        auto at = std::make_unique<place>();
        std::atomic<int> waiting = 0, left = 3;
        gathering all;
        auto wait = [&]() -> task<> {
            auto held = co_await at->guard.scoped_lock();
            waiting++;
            co_await at->changed.wait(held);
            bool last = left.fetch_sub(1) == 1;
            co_await held.unlock();
            if (last)
                at.reset();
        };
        auto notify = [&]() -> task<> {
            while (waiting < 3)
                co_await yield();
            { auto held = co_await at->guard.scoped_lock(); }
            co_await at->changed.notify_all();
        };
        for (int i = 0; i < 3; i++)
            all.add(workers, wait());
        all.add(workers, notify());
        all.wait();
        EXPECT_EQ(at, nullptr);
    }
}

// A pool that ends when the notified task has the mutex and a thread, but has not run.
TEST(CoroNotification, APoolEndsWhileTasksNotify) {
    for (int round = 0; round < 40; round++) {
        mutex guard;
        condition_variable changed;
        std::atomic<int> steps = 0;
        pool workers(2);
        auto act = [&]() -> task<> {
            for (;;) {
                {
                    auto held = co_await guard.scoped_lock();
                    steps++;
                    static_cast<void>(co_await changed.wait_for(held, 1ms));
                }
                co_await changed.notify_one();
                co_await changed.notify_all();
            }
        };
        for (int i = 0; i < 6; i++)
            spawn(workers, act());
        while (steps < 20 * (round % 8))
            std::this_thread::yield();
        workers.shutdown();
        EXPECT_TRUE(guard.try_lock());
        guard.unlock_unsuspended();
    }
}

// At random and at once -----------------------------------------------------------------------------------------------

template <policy Policy>
struct scene {
    basic_mutex<Policy> guard;
    basic_condition_variable<Policy> changed;
    std::stop_source stop;
    long tokens = 0, taken = 0, inside = 0; // under the mutex
    std::atomic<int> broken = 0;
};

// Has the mutex, alone.
template <policy Policy>
void take_one(scene<Policy> &at, const basic_scoped_lock<Policy> &held) {
    at.broken += !held.owns_lock() || at.inside++ != 0;
    at.tokens--;
    at.taken++;
    at.inside--;
}

template <policy Policy>
task<> take_tokens(scene<Policy> &at, unsigned seed, int times) {
    std::minstd_rand random(seed + 1);
    auto there = [&] { return at.tokens > 0; };
    for (int taken = 0; taken < times;) {
        auto held = co_await at.guard.scoped_lock();
        bool got = true;
        switch (random() % 4) {
        case 0: co_await at.changed.wait(held, there); break;
        case 1: got = co_await at.changed.wait_for(held, std::chrono::microseconds(random() % 100), there); break;
        case 2: got = co_await at.changed.wait(held, at.stop.get_token(), there); break;
        default:
            while (!there())
                co_await at.changed.wait(held);
        }
        if (got) {
            take_one(at, held);
            taken++;
        }
        co_await held.unlock();
        if (!got)
            co_await yield(); // a stop that was requested does not release the mutex
    }
}

template <policy Policy>
task<> give_tokens(scene<Policy> &at, unsigned seed, int times) {
    std::minstd_rand random(seed + 1);
    for (int i = 0; i < times; i++) {
        auto held = co_await at.guard.scoped_lock();
        at.broken += at.inside++ != 0;
        at.tokens++;
        at.inside--;
        unsigned how = random() % 8;
        if (how == 0)
            co_await at.changed.notify_one();
        else if (how == 1)
            at.changed.notify_all();
        co_await held.unlock();
        if (how == 2)
            at.changed.notify_one();
        else if (how == 3 || how == 4)
            co_await at.changed.notify_all();
        else if (how > 4)
            co_await at.changed.notify_one();
    }
}

template <policy Policy>
void give_and_take(executor_base &on) {
    constexpr int tasks = 12, times = 40;
    for (unsigned round = 0; round < 10; round++) {
        scene<Policy> at;
        gathering all;
        for (unsigned i = 0; i < tasks; i++) {
            all.add(on, take_tokens(at, round * 1000 + i, times));
            all.add(on, give_tokens(at, round * 1000 + 500 + i, times));
        }
        if (round % 2 == 0)
            at.stop.request_stop();
        all.wait();
        EXPECT_EQ(at.broken, 0);
        EXPECT_EQ(at.taken, tasks * times);
        EXPECT_EQ(at.tokens, 0);
        EXPECT_TRUE(at.guard.try_lock());
    }
}

TEST(CoroNotificationStress, LosesNobodyOnPools) {
    for (unsigned workers : {1u, 2u, 5u}) {
        pool on(pool_options{workers, 8});
        give_and_take<policy::ces>(on);
        give_and_take<policy::dispatch>(on);
        give_and_take<policy::inline_>(on);
    }
}

TEST(CoroNotificationStress, LosesNobodyOnAnAdapter) {
    pool threads(3);
    posting_executor on([&](posting_executor::ticket one) { post(threads, [one] { one(); }); });
    give_and_take<policy::ces>(on);
}

} // namespace
