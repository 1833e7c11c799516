// SPDX-License-Identifier: MIT OR Apache-2.0
// Executors end again and again while another pool, and a plain thread, use the same primitives (coro.X1 to X4). What
// uses memory that is gone is for the sanitizers to see; here the survivors must all come to their end, and nothing
// that the others held may be lost.
//
// Shown able to fail: with hold_home() that holds nothing AddressSanitizer ends it; with
// waiter::choose() that does not hold the home IsKeptFromWhenItsWaiterIsChosen fails; with a waiter that is an orphan
// before it is adrift AnOrphanThatIsSeenIsAdrift fails, in 8 runs of 10 beside a load.
#include <atomic>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

#include "holdfast/coro/coro.hpp"
#include "holdfast/coro/executors/posting_executor.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

constexpr auto how_long = 400ms;

// An executor that ends soon, and what it is for.
class short_lived {
public:
    virtual ~short_lived() = default;
    virtual executor_base &on() = 0;
};
class short_lived_pool final : public short_lived {
public:
    executor_base &on() override { return pool_; }

private:
    pool pool_{2};
};
// On the workers of a pool that lives.
class short_lived_adapter final : public short_lived {
public:
    explicit short_lived_adapter(pool &threads)
        : on_([&threads](posting_executor::ticket one) { post(threads, [one] { one(); }); }) {}
    executor_base &on() override { return on_; }

private:
    posting_executor on_;
};

// `use` is one use of the primitive by a task, again and again; `from_outside` one by a thread that is no executor's.
// `ends_waits`, in the end, lets all survivors go that still wait.
struct uses {
    std::function<task<>()> use;
    std::function<void()> from_outside;
    std::function<void()> ends_waits = [] {};
};

task<> uses_again_and_again(const uses &of, const std::atomic<bool> &over) {
    while (!over.load(std::memory_order_relaxed)) {
        co_await of.use();
        co_await yield();
    }
}
task<> counted(const uses &of, const std::atomic<bool> &over, std::atomic<int> &left) {
    co_await uses_again_and_again(of, over);
    left.fetch_sub(1);
}

void end_executors_beside(const uses &of, bool adapted) {
    pool lives(2);
    std::atomic<bool> over = false;
    std::atomic<int> left = 4;
    for (int i = left; i > 0; i--)
        spawn(lives, counted(of, over, left));
    std::thread outside([&] {
        while (left > 0) {
            of.from_outside();
            std::this_thread::yield();
        }
    });
    std::atomic<bool> never = false;
    auto until = std::chrono::steady_clock::now() + how_long;
    int ended = 0;
    while (std::chrono::steady_clock::now() < until || ended < 3) {
        std::unique_ptr<short_lived> one;
        if (adapted)
            one = std::make_unique<short_lived_adapter>(lives);
        else
            one = std::make_unique<short_lived_pool>();
        for (int i = 0; i < 8; i++)
            spawn(one->on(), uses_again_and_again(of, never));
        std::this_thread::sleep_for(std::chrono::microseconds(50 * (ended % 40)));
        ended++;
    }
    over = true;
    while (left > 0) {
        of.ends_waits();
        std::this_thread::sleep_for(1ms);
    }
    outside.join();
}

class TwoExecutors : public testing::TestWithParam<bool> {};

TEST_P(TwoExecutors, Mutex) {
    mutex one;
    uses of{[&]() -> task<> {
                auto held = co_await one.scoped_lock();
                co_await yield();
                co_await held.unlock();
                co_await one.with([] {});
            },
            [&] {
                if (one.try_lock())
                    one.unlock_unsuspended();
            }};
    end_executors_beside(of, GetParam());
    EXPECT_TRUE(one.try_lock());
    one.unlock_unsuspended();
}

TEST_P(TwoExecutors, SharedMutex) {
    shared_mutex one;
    uses of{[&]() -> task<> {
                {
                    auto held = co_await one.scoped_lock_shared();
                    co_await yield();
                    co_await held.unlock();
                }
                auto held = co_await one.scoped_lock();
                co_await yield();
            },
            [&] {
                if (one.try_lock_shared())
                    one.unlock_shared_unsuspended();
            }};
    end_executors_beside(of, GetParam());
    EXPECT_TRUE(one.try_lock());
    one.unlock_unsuspended();
}

TEST_P(TwoExecutors, Semaphore) {
    counting_semaphore one(2);
    uses of{[&]() -> task<> {
                auto permit = co_await one.scoped_acquire();
                co_await yield();
                co_await permit.unlock();
                bool got = co_await one.try_acquire_for(100us);
                if (got)
                    one.release_unsuspended();
            },
            [&] {
                if (one.try_acquire())
                    one.release_unsuspended();
            }};
    end_executors_beside(of, GetParam());
    EXPECT_TRUE(one.try_acquire() && one.try_acquire() && !one.try_acquire());
}

TEST_P(TwoExecutors, AutoEvent) {
    auto_event one;
    uses of{[&]() -> task<> { co_await one.wait(); }, [&] { one.set(); }};
    end_executors_beside(of, GetParam());
}

TEST_P(TwoExecutors, Event) {
    event one;
    uses of{[&]() -> task<> {
                co_await one.wait();
                bool set = co_await one.wait_for(50us);
                if (set)
                    one.reset();
            },
            [&] { one.set(); }};
    end_executors_beside(of, GetParam());
}

TEST_P(TwoExecutors, ConditionVariable) {
    mutex guard;
    condition_variable one;
    uses of{[&]() -> task<> {
                auto held = co_await guard.scoped_lock();
                bool notified = co_await one.wait_for(held, 200us);
                if (!notified)
                    one.notify_one();
                co_await held.unlock();
            },
            [&] { one.notify_all(); }};
    end_executors_beside(of, GetParam());
    EXPECT_TRUE(guard.try_lock());
    guard.unlock_unsuspended();
}

TEST_P(TwoExecutors, AwaitedNotification) {
    mutex guard;
    condition_variable one;
    uses of{[&]() -> task<> {
                {
                    auto held = co_await guard.scoped_lock();
                    static_cast<void>(co_await one.wait_for(held, 200us));
                }
                co_await one.notify_one();
                co_await one.notify_all();
            },
            [&] { one.notify_all(); }};
    end_executors_beside(of, GetParam());
    EXPECT_TRUE(guard.try_lock());
    guard.unlock_unsuspended();
}

// Those of an executor that ends leave while they wait for many in front of others, and while they have many.
TEST_P(TwoExecutors, ManyPermits) {
    counting_semaphore one(5);
    uses of{[&]() -> task<> {
                {
                    auto permits = co_await one.scoped_acquire(4);
                    co_await yield();
                }
                auto permits = co_await one.try_scoped_acquire_for(2, 100us);
                co_await yield();
            },
            [&] {
                if (one.try_acquire(3))
                    one.release_unsuspended(3);
            }};
    end_executors_beside(of, GetParam());
    EXPECT_TRUE(one.try_acquire(5) && !one.try_acquire());
}

TEST_P(TwoExecutors, Channel) {
    channel<int> one(1);
    uses of{[&]() -> task<> {
                bool sent = co_await one.send(1);
                std::optional<int> got = co_await one.receive_for(100us);
                EXPECT_TRUE(sent && (!got || *got > 0));
            },
            [&] {
                int value = 2;
                static_cast<void>(one.try_send(value));
                static_cast<void>(one.try_receive());
            },
            [&] {
                while (one.try_receive()) {
                }
            }};
    end_executors_beside(of, GetParam());
}

TEST_P(TwoExecutors, Barrier) {
    barrier one(3);
    uses of{[&]() -> task<> { co_await one.arrive_and_wait(); }, [&] { one.arrive(); }};
    end_executors_beside(of, GetParam());
}

INSTANTIATE_TEST_SUITE_P(, TwoExecutors, testing::Bool(),
                         [](const auto &adapted) { return adapted.param ? "Adapter" : "Pool"; });

// An executor whose end can be looked at.
class watched_executor final : public executor_base {
public:
    ~watched_executor() { end(); }
    void schedule(std::coroutine_handle<>) noexcept override { scheduled++; }
    void schedule_remote(std::coroutine_handle<>) noexcept override { scheduled++; }
    timer_queue &timers() noexcept override { return timers_; }
    using executor_base::begin_end;
    std::atomic<int> scheduled = 0;

private:
    timer_queue timers_;
};

// As prepare() on one of its threads.
void wait_on(executor_base &home, waiter &one) {
    one.home = &home;
    one.life = home.life();
    one.generation = home.generation();
}

// coro.X1: from the moment when a waiter is chosen, under the guard, its executor can't end.
TEST(Home, IsKeptFromWhenItsWaiterIsChosen) {
    watched_executor home;
    waiter one;
    wait_on(home, one);
    wait_list list;
    ASSERT_TRUE(list.link(one));
    ASSERT_EQ(list.choose(), &one);
    std::atomic<bool> ended = false;
    std::thread ends([&] {
        home.begin_end();
        ended = true;
    });
    std::this_thread::sleep_for(30ms);
    EXPECT_FALSE(ended);
    schedule(one);
    ends.join();
    EXPECT_EQ(home.scheduled, 1);
}

// coro.X3
TEST(Home, AWaiterWhoseExecutorIsEndingGetsNothing) {
    watched_executor home;
    waiter one, other;
    wait_on(home, one);
    wait_list list;
    ASSERT_TRUE(list.link(one) && list.link(other));
    home.begin_end();
    EXPECT_EQ(list.choose(), &other);
    EXPECT_TRUE(one.adrift);
    one.leave_home();
    EXPECT_FALSE(one.adrift);
}

// Two threads that have a CPU each meet within some instructions.
template <class Condition>
void poll_until(Condition condition) {
    for (int polls = 0; !condition(); polls++)
        if (polls > 1000)
            std::this_thread::yield();
}

// coro.X4: a destructor that sees an orphan takes no guard of the primitive's before it leaves the home. Where others
// want the CPUs the two threads meet seldom: then there are fewer rounds.
TEST(Home, AnOrphanThatIsSeenIsAdrift) {
    constexpr int rounds_max = 200'000;
    std::atomic<waiter *> chosen = nullptr; // the one that is about to be
    std::atomic<bool> is_seen = false, over = false;
    std::thread destroys([&] {
        for (;;) {
            poll_until([&] { return chosen.load() != nullptr || over.load(); });
            if (over)
                return;
            is_seen = true;
            poll_until([&] { return chosen.load()->was(wait_state::orphaned); });
            chosen.load()->leave_home();
            chosen = nullptr;
        }
    });
    int adrift = 0;
    auto until = std::chrono::steady_clock::now() + 20s;
    for (int i = 0; i < rounds_max && std::chrono::steady_clock::now() < until; i++) {
        watched_executor home;
        waiter one;
        wait_on(home, one);
        wait_list list;
        EXPECT_TRUE(list.link(one));
        home.begin_end();
        is_seen = false;
        chosen = &one;
        poll_until([&] { return is_seen.load(); });
        EXPECT_EQ(list.choose(), nullptr);
        poll_until([&] { return chosen.load() == nullptr; });
        adrift += one.adrift;
        one.leave_home();
    }
    over = true;
    destroys.join();
    EXPECT_EQ(adrift, 0);
}

// Returns when the pool's only worker has left what it runs now: a task that has said that it is about to wait does.
void await_worker(pool &of_one_worker) {
    std::atomic<bool> is_free = false;
    post(of_one_worker, [&] { is_free = true; });
    while (!is_free)
        std::this_thread::yield();
}

// A task that waits on an executor which is not that on which it was spawned.
TEST(Home, AWaiterWhoseExecutorHasEndedIsResumedWithAnError) {
    counting_semaphore permits(0);
    pool lives(1);
    auto goes = std::make_unique<pool>(1);
    std::atomic<bool> waits = false;
    std::atomic<int> error = 0;
    auto hops = [&]() -> task<> {
        co_await resume_on(*goes);
        waits = true;
        try {
            co_await permits.acquire();
        } catch (const executor_stopped &) {
            error++;
        }
    };
    spawn(lives, hops);
    while (!waits)
        std::this_thread::yield();
    await_worker(*goes);
    goes.reset();
    permits.release_unsuspended(); // its waker resumes it
    while (error == 0)
        std::this_thread::yield();
    EXPECT_TRUE(permits.try_acquire()); // what it was given is not lost
}

TEST(Home, ASleeperWhoseExecutorEndsIsResumedWithAnError) {
    pool lives(1);
    auto goes = std::make_unique<pool>(1);
    std::atomic<bool> sleeps = false;
    std::atomic<int> error = 0;
    auto hops = [&]() -> task<> {
        co_await resume_on(*goes);
        sleeps = true;
        try {
            co_await sleep_for(1h);
        } catch (const executor_stopped &) {
            error++;
        }
    };
    spawn(lives, hops);
    while (!sleeps)
        std::this_thread::yield();
    await_worker(*goes);
    goes.reset();
    EXPECT_EQ(error, 1);
}

TEST(Home, AnErrorOfASpawnedTaskIsItsEnd) {
    auto_event one;
    pool lives(1);
    auto goes = std::make_unique<pool>(1);
    std::atomic<bool> waits = false;
    auto hops = [&]() -> task<> {
        co_await resume_on(*goes);
        waits = true;
        co_await one.wait();
    };
    spawn(lives, hops);
    while (!waits)
        std::this_thread::yield();
    await_worker(*goes);
    goes.reset();
    one.set();
    EXPECT_TRUE(one.try_wait()); // it takes nothing with it
}

} // namespace
