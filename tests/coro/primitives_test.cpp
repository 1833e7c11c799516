// SPDX-License-Identifier: MIT OR Apache-2.0
// Everything that is not the mutex: one promise of each header at a time.
//
// Shown able to fail: see docs/coroutines-checks.md.
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "coro/gathering.hpp"
#include "coro/two_and_a_third.hpp"
#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

TEST(CoroEvent, SetLetsAllGoOnUntilReset) {
    pool workers(3u);
    event happened;
    std::atomic<int> through = 0;
    gathering all;
    auto come = [&]() -> task<> {
        co_await happened.wait();
        through++;
    };
    for (int i = 0; i < 30; i++)
        all.add(workers, come());
    happened.set();
    all.wait();
    EXPECT_EQ(through, 30);
    EXPECT_TRUE(happened.try_wait());
    happened.reset();
    EXPECT_FALSE(happened.try_wait());
}

// coro.E1. Waiters in front of the list are cancelled while set() is called: one goes on by it, whoever that is.
TEST(CoroEvent, AnAutomaticOneIsNotConsumedByACancelledWaiter) {
    pool worker(1u);
    for (int round = 0; round < 100; round++) {
        auto_event happened;
        std::stop_source stop;
        int impatient = 0, patient = 0;
        gathering all;
        auto give_up = [&]() -> task<> { impatient += co_await happened.wait(stop.get_token()); };
        auto stay = [&]() -> task<> {
            co_await happened.wait();
            patient++;
        };
        auto lead = [&]() -> task<> {
            all.add(worker, give_up());
            all.add(worker, give_up());
            all.add(worker, stay());
            for (int turn = 0; turn < 60; turn++)
                co_await yield(); // the only worker has come to them: they wait, in this order
            std::thread setter([&] { happened.set(); });
            stop.request_stop();
            setter.join();
            for (int turn = 0; turn < 60; turn++)
                co_await yield();
            EXPECT_EQ(impatient + patient, 1);
            if (patient == 0)
                happened.set();
        };
        sync_wait(worker, lead());
        all.wait();
        EXPECT_EQ(patient, 1);
    }
}

TEST(CoroEvent, OneSetLetsOneThrough) {
    pool worker(1u);
    auto_event happened;
    int through = 0;
    gathering all;
    auto come = [&]() -> task<> {
        co_await happened.wait();
        through++;
    };
    auto lead = [&]() -> task<> {
        for (int i = 0; i < 3; i++)
            all.add(worker, come());
        for (int turn = 0; turn < 60; turn++)
            co_await yield();
        happened.set();
        for (int turn = 0; turn < 60; turn++)
            co_await yield();
    };
    sync_wait(worker, lead());
    EXPECT_EQ(through, 1);
    happened.set();
    happened.set();
    all.wait();
}

TEST(CoroLatch, WaitsForAll) {
    pool workers(3u);
    for (int round = 0; round < 100; round++) {
        auto done = std::make_unique<latch>(10);
        std::atomic<int> counted = 0;
        gathering all;
        auto count = [&]() -> task<> {
            counted++;
            done->count_down();
            co_return;
        };
        for (int i = 0; i < 10; i++)
            all.add(workers, count());
        auto await = [&]() -> task<int> {
            co_await done->wait();
            int seen = counted;
            done.reset(); // the task that has waited may destroy it
            co_return seen;
        };
        EXPECT_EQ(sync_wait(workers, await()), 10);
        all.wait();
    }
}

TEST(CoroBarrier, NobodyGoesOnBeforeAllHaveCome) {
    constexpr int tasks = 8, rounds = 200;
    pool workers(3u);
    barrier together(tasks);
    std::atomic<int> come = 0;
    std::atomic<int> early = 0;
    gathering all;
    auto run = [&]() -> task<> {
        for (int round = 1; round <= rounds; round++) {
            come++;
            co_await together.arrive_and_wait();
            early += come < round * tasks;
        }
    };
    for (int i = 0; i < tasks; i++)
        all.add(workers, run());
    all.wait();
    EXPECT_EQ(early, 0);
    EXPECT_EQ(come, tasks * rounds);
}

// coro.B3.
TEST(CoroBarrier, AWaiterThatGivesUpHasComeAllTheSame) {
    pool workers(2u);
    barrier together(3);
    auto give_up = [&]() -> task<bool> { co_return co_await together.arrive_and_wait_for(1ms); };
    auto come_stopped = [&]() -> task<bool> {
        std::stop_source stop;
        stop.request_stop();
        co_return co_await together.arrive_and_wait(stop.get_token());
    };
    auto be_last = [&]() -> task<bool> { co_return co_await together.arrive_and_wait_for(1h); };
    for (int round = 0; round < 3; round++) {
        EXPECT_FALSE(sync_wait(workers, give_up()));
        EXPECT_FALSE(sync_wait(workers, come_stopped()));
        EXPECT_TRUE(sync_wait(workers, be_last()));
    }
}

TEST(CoroBarrier, ArrivesFromOutsideWithoutWaiting) {
    pool workers(2u);
    barrier together(3);
    together.arrive();
    gathering all;
    auto come = [&]() -> task<> { co_await together.arrive_and_wait(); };
    all.add(workers, come());
    together.arrive();
    all.wait();
    together.arrive(); // the next round's
    together.arrive();
    sync_wait(workers, come());
}

// coro.B3: the frames of those who wait are destroyed, and their round goes on without them.
TEST(CoroBarrier, ADestroyedWaiterHasCome) {
    barrier together(3);
    auto come = [&](std::atomic<int> &come_in) -> task<> {
        come_in++;
        co_await together.arrive_and_wait();
    };
    {
        std::atomic<int> come_in = 0;
        pool worker(1u);
        spawn(worker, come(come_in));
        spawn(worker, come(come_in));
        auto see_both_wait = [&]() -> task<> {
            while (come_in < 2)
                co_await yield();
        };
        sync_wait(worker, see_both_wait());
    }
    pool worker(1u);
    std::atomic<int> come_in = 0;
    sync_wait(worker, come(come_in));
}

// coro.B2. What a co_await does, step by step.
TEST(CoroBarrier, NobodyWaitsForARoundThatEndedBeforeTheyWereLinked) {
    barrier together(2);
    auto for_ever = together.arrive_and_wait();
    EXPECT_FALSE(for_ever.await_ready());
    together.arrive();
    EXPECT_FALSE(for_ever.await_suspend(std::noop_coroutine()));
    for_ever.await_resume();

    std::stop_source never;
    auto limited = together.arrive_and_wait(never.get_token());
    EXPECT_FALSE(limited.await_ready());
    together.arrive();
    EXPECT_FALSE(limited.await_suspend(std::noop_coroutine()));
    EXPECT_TRUE(limited.await_resume());
}

// Limits are reached while rounds end: a task that was told that all have come is told the truth, and no round is
// stuck.
TEST(CoroBarrier, LimitsAreReachedWhileRoundsEnd) {
    constexpr int tasks = 6, rounds = 300;
    pool workers(3u);
    barrier together(tasks);
    struct {
        std::atomic<int> coming = 0, gone = 0; // before and after the wait
    } of_round[rounds];
    std::atomic<int> early = 0, in_time = 0;
    gathering all;
    auto run = [&](int number) -> task<> {
        for (int round = 0; round < rounds; round++) {
            of_round[round].coming++;
            bool all_came = co_await together.arrive_and_wait_for(std::chrono::microseconds((number * round) % 40));
            in_time += all_came;
            early += all_came && of_round[round].coming < tasks;
            of_round[round].gone++;
            while (!all_came && of_round[round].gone < tasks) // not twice for the same round
                co_await yield();
        }
    };
    for (int i = 0; i < tasks; i++)
        all.add(workers, run(i));
    all.wait();
    EXPECT_EQ(early, 0);
    EXPECT_GE(in_time, rounds); // the last of each round
}

template <class Semaphore>
class CoroSemaphore : public testing::Test {};
using every_semaphore =
    testing::Types<counting_semaphore, basic_semaphore<policy::dispatch>, basic_semaphore<policy::inline_>>;
TYPED_TEST_SUITE(CoroSemaphore, every_semaphore);

TYPED_TEST(CoroSemaphore, NoMoreThanItsPermitsAreInside) {
    pool workers(4u);
    TypeParam permits(3);
    std::atomic<int> inside = 0, most = 0, entered = 0;
    gathering all;
    auto come = [&]() -> task<> {
        for (int i = 0; i < 100; i++) {
            if (i % 4 != 0)
                co_await permits.acquire();
            else if (!co_await permits.try_acquire_for(1us))
                continue;
            int now = ++inside;
            for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
            }
            entered++;
            if (i % 8 == 0)
                co_await yield();
            inside--;
            co_await permits.release();
        }
    };
    for (int i = 0; i < 40; i++)
        all.add(workers, come());
    all.wait();
    EXPECT_LE(most, 3);
    EXPECT_GE(entered, 40 * 75);
    EXPECT_TRUE(permits.try_acquire()); // coro.S1: they are all there again, and no more
    EXPECT_TRUE(permits.try_acquire());
    EXPECT_TRUE(permits.try_acquire());
    EXPECT_FALSE(permits.try_acquire());
    permits.release_unsuspended(3);
}

TYPED_TEST(CoroSemaphore, ReleaseOfManyLetsManyGoOn) {
    pool workers(2u);
    TypeParam permits(0);
    std::atomic<int> through = 0;
    gathering all;
    auto come = [&]() -> task<> {
        co_await permits.acquire();
        through++;
    };
    for (int i = 0; i < 20; i++)
        all.add(workers, come());
    auto lead = [&]() -> task<> {
        co_await permits.release(15);
        co_await permits.release(5);
    };
    sync_wait(workers, lead());
    all.wait();
    EXPECT_EQ(through, 20);
}

template <class Mutex>
class CoroSharedMutex : public testing::Test {};
using every_shared =
    testing::Types<shared_mutex, basic_shared_mutex<policy::dispatch>, basic_shared_mutex<policy::inline_>>;
TYPED_TEST_SUITE(CoroSharedMutex, every_shared);

TYPED_TEST(CoroSharedMutex, OneWriterOrManyReaders) {
    pool workers(4u);
    TypeParam guard;
    std::atomic<int> readers = 0, writers = 0, wrong = 0;
    gathering all;
    auto come = [&](int number) -> task<> {
        for (int i = 0; i < 100; i++) {
            bool writes = (i + number) % 5 == 0, limited = i % 3 == 0;
            if (writes) {
                if (!limited)
                    co_await guard.lock();
                else if (!co_await guard.try_lock_for(1us))
                    continue;
                wrong += ++writers != 1 || readers != 0;
                if (i % 2 == 0)
                    co_await yield();
                writers--;
                co_await guard.unlock();
            } else {
                if (!limited)
                    co_await guard.lock_shared();
                else if (!co_await guard.try_lock_shared_for(1us))
                    continue;
                readers++;
                wrong += writers != 0;
                if (i % 2 == 0)
                    co_await yield();
                readers--;
                co_await guard.unlock_shared();
            }
        }
    };
    for (int i = 0; i < 40; i++)
        all.add(workers, come(i));
    all.wait();
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(guard.try_lock());
}

// coro.R2: behind a writer that gives up.
TYPED_TEST(CoroSharedMutex, ReadersGoOnWhenTheWriterBeforeThemGivesUp) {
    pool workers(2u);
    TypeParam guard;
    ASSERT_TRUE(guard.try_lock_shared());
    std::stop_source stop;
    std::atomic<bool> waits = false;
    gathering all;
    auto write = [&]() -> task<> {
        waits = true;
        EXPECT_FALSE(co_await guard.lock(stop.get_token()));
    };
    auto read = [&]() -> task<> {
        co_await guard.lock_shared();
        co_await guard.unlock_shared();
    };
    all.add(workers, write());
    while (!waits)
        std::this_thread::yield();
    while (guard.try_lock_shared()) // until the writer is in the queue: `waits` was said before that
        guard.unlock_shared_unsuspended();
    all.add(workers, read());
    stop.request_stop();
    all.wait();
    guard.unlock_shared_unsuspended();
    EXPECT_TRUE(guard.try_lock());
}

// One worker whose writer lets `readers` in while `others` are ready: who ran, in their order, 'r' and 'o'. Fewer than
// it takes from a queue before it looks into the common one first, where the writer is.
std::string order_behind_a_writer(unsigned chain_max, int readers, int others) {
    pool workers(pool_options{.workers = 1, .chain_max = chain_max});
    shared_mutex guard;
    std::string order;
    gathering all;
    auto read = [&]() -> task<> {
        co_await guard.lock_shared();
        order += 'r';
        co_await guard.unlock_shared();
    };
    auto other = [&]() -> task<> {
        order += 'o';
        co_return;
    };
    auto write = [&]() -> task<> {
        co_await guard.lock();
        for (int i = 0; i < readers; i++)
            all.add(workers, read());
        co_await yield(); // they wait now
        for (int i = 0; i < others; i++)
            all.add(workers, other());
        co_await guard.unlock();
    };
    all.add(workers, write());
    all.wait();
    return order;
}

// They have the lock, and the next writer waits for all of them.
TEST(CoroSharedMutexOrder, ReadersThatWereLetInGoBeforeWhatIsMerelyReady) {
    EXPECT_EQ(order_behind_a_writer(chain_default, 5, 5), "rrrrrooooo");
}

TEST(CoroSharedMutexOrder, ManyReadersInARowDoNotKeepTheirWorker) {
    std::string order = order_behind_a_writer(4, 12, 2);
    EXPECT_EQ(order.size(), 14u);
    EXPECT_LT(order.rfind('o'), 12u) << order;
}

template <class Condition>
class CoroCondition : public testing::Test {};
using every_condition = testing::Types<condition_variable, basic_condition_variable<policy::dispatch>,
                                       basic_condition_variable<policy::inline_>>;
TYPED_TEST_SUITE(CoroCondition, every_condition);

template <policy Policy>
basic_mutex<Policy> mutex_of(const basic_condition_variable<Policy> &);

TYPED_TEST(CoroCondition, TokensReachTheirWaiters) {
    constexpr int tasks = 20, times = 50;
    pool workers(3u);
    decltype(mutex_of(std::declval<TypeParam>())) guard;
    TypeParam changed;
    int tokens = 0, taken = 0;
    gathering all;
    auto take = [&]() -> task<> {
        for (int i = 0; i < times; i++) {
            auto held = co_await guard.scoped_lock();
            if (i % 2 == 0)
                co_await changed.wait(held, [&] { return tokens > 0; });
            else
                while (tokens == 0)
                    co_await changed.wait_for(held, 1ms) ? void() : void();
            EXPECT_TRUE(held.owns_lock());
            tokens--;
            taken++;
            co_await held.unlock();
        }
    };
    auto give = [&]() -> task<> {
        for (int i = 0; i < tasks * times; i++) {
            auto held = co_await guard.scoped_lock();
            tokens++;
            if (i % 7 == 0)
                changed.notify_all();
            else if (i % 2 == 0)
                changed.notify_one();
            co_await held.unlock();
            if (i % 2 != 0)
                changed.notify_one();
        }
    };
    for (int i = 0; i < tasks; i++)
        all.add(workers, take());
    all.add(workers, give());
    all.wait();
    EXPECT_EQ(tokens, 0);
    EXPECT_EQ(taken, tasks * times);
}

// Two that hand the mutex to each other by waiting, never by an unlock.
TEST(CoroConditionChain, EndsForTheSakeOfOthers) {
    constexpr int moves_max = 1000000;
    mutex guard;
    condition_variable changed;
    int turn = 0, moves = 0;
    bool over = false;
    auto play = [&](int me) -> task<> {
        auto held = co_await guard.scoped_lock();
        while (!over && moves < moves_max) {
            moves++;
            turn = 1 - me;
            changed.notify_one();
            co_await changed.wait(held, [&] { return turn == me || over || moves == moves_max; });
        }
        changed.notify_all();
        co_await held.unlock();
    };
    play_until_a_third_ends_it(play, over);
    EXPECT_LT(moves, moves_max);
}

// coro.C3: the guard of a task that waits, in either list, does not have the mutex; its destruction gives back nothing.
TYPED_TEST(CoroCondition, APoolEndsWhileTasksWait) {
    for (int round = 0; round < 20; round++) {
        decltype(mutex_of(std::declval<TypeParam>())) guard;
        TypeParam changed;
        std::atomic<int> waiting = 0;
        pool workers(2u);
        auto wait = [&](bool limited) -> task<> {
            auto held = co_await guard.scoped_lock();
            waiting++;
            if (limited)
                static_cast<void>(co_await changed.wait_for(held, 1h));
            else
                static_cast<void>(co_await changed.wait(held));
            for (;;)
                co_await yield();
        };
        for (int i = 0; i < 6; i++)
            spawn(workers, wait(i % 2 == 0));
        while (waiting < 6)
            std::this_thread::yield();
        if (round % 2 == 0)
            changed.notify_all(); // one gets the mutex, the others wait for it
        workers.shutdown();
        EXPECT_TRUE(guard.try_lock());
    }
}

// coro.C3: the mutex has another owner while they are destroyed, who still has it afterwards.
TYPED_TEST(CoroCondition, AWaiterDoesNotHaveTheMutex) {
    decltype(mutex_of(std::declval<TypeParam>())) guard;
    TypeParam changed;
    std::atomic<int> waiting = 0;
    pool workers(2u);
    auto wait = [&]() -> task<> {
        auto held = co_await guard.scoped_lock();
        waiting++;
        static_cast<void>(co_await changed.wait(held));
    };
    for (int i = 0; i < 4; i++)
        spawn(workers, wait());
    while (waiting < 4 || !guard.try_lock())
        std::this_thread::yield(); // the last one is still on its way into its wait
    workers.shutdown();
    EXPECT_FALSE(guard.try_lock());
    guard.unlock_unsuspended();
    EXPECT_TRUE(guard.try_lock());
}

TEST(CoroChannel, EachValueIsReceivedOnce) {
    for (std::size_t capacity : {0u, 1u, 16u}) {
        pool workers(4u);
        channel<std::unique_ptr<int>> values(capacity);
        std::atomic<long> sum = 0;
        std::atomic<int> received = 0;
        gathering senders, receivers;
        auto send = [&](int first) -> task<> {
            for (int i = 0; i < 100; i++) {
                if (i % 5 == 0)
                    while (!co_await values.send_for(std::make_unique<int>(first + i), 1us))
                        co_await yield(); // in a slow build the time is over before the wait, and nobody would receive
                else
                    EXPECT_TRUE(co_await values.send(std::make_unique<int>(first + i)));
            }
        };
        auto receive = [&]() -> task<> {
            while (auto one = co_await values.receive()) {
                sum += **one;
                received++;
            }
        };
        for (int i = 0; i < 10; i++) {
            senders.add(workers, send(100 * i));
            receivers.add(workers, receive());
        }
        senders.wait();
        values.close();
        receivers.wait();
        EXPECT_EQ(received, 1000);
        EXPECT_EQ(sum, 999L * 1000 / 2);
    }
}

TEST(CoroChannel, CloseEndsAllWaits) {
    pool workers(2u);
    channel<int> full(1), empty(1);
    EXPECT_FALSE(full.closed());
    std::atomic<int> ended = 0;
    gathering all;
    auto send = [&]() -> task<> {
        EXPECT_FALSE(co_await full.send(2));
        ended++;
    };
    auto receive = [&]() -> task<> {
        EXPECT_FALSE(co_await empty.receive());
        ended++;
    };
    int one = 1;
    ASSERT_TRUE(full.try_send(one));
    for (int i = 0; i < 5; i++) {
        all.add(workers, send());
        all.add(workers, receive());
    }
    full.close();
    empty.close();
    EXPECT_TRUE(full.closed());
    all.wait();
    EXPECT_EQ(ended, 10);
    EXPECT_EQ(full.try_receive(), 1); // coro.N3
    EXPECT_FALSE(full.try_receive());
}

TEST(CoroChannel, LimitsEndAWaitAndNothingIsLost) {
    pool workers(2u);
    channel<int> values(0);
    auto none = [&]() -> task<bool> { co_return (co_await values.receive_for(1ms)).has_value(); };
    EXPECT_FALSE(sync_wait(workers, none()));
    auto nobody = [&]() -> task<bool> { co_return co_await values.send_for(1, 1ms); };
    EXPECT_FALSE(sync_wait(workers, nobody()));
    EXPECT_FALSE(values.try_receive());
}

TEST(CoroWhenAll, GivesAllResultsAndTheFirstException) {
    pool workers(2u);
    auto number = [](int value) -> task<int> {
        co_await yield();
        co_return value;
    };
    auto word = []() -> task<std::string> { co_return "two"; };
    auto nothing = []() -> task<> { co_await yield(); };
    auto fail = []() -> task<int> {
        co_await yield();
        throw std::runtime_error("three");
    };
    auto both = [&]() -> task<std::string> {
        auto [one, two, three] = co_await when_all(number(1), word(), nothing());
        static_cast<void>(three);
        co_return std::to_string(one) + two;
    };
    for (int i = 0; i < 100; i++)
        EXPECT_EQ(sync_wait(workers, both()), "1two");
    auto failing = [&]() -> task<> { co_await when_all(number(1), fail()); };
    EXPECT_THROW(sync_wait(workers, failing()), std::runtime_error);

    std::atomic<int> ended = 0;
    auto count = [&]() -> task<> {
        ended++;
        co_return;
    };
    auto many = [&]() -> task<> {
        std::vector<task<>> tasks;
        for (int i = 0; i < 100; i++)
            tasks.push_back(count());
        co_await when_all(std::move(tasks));
    };
    sync_wait(workers, many());
    EXPECT_EQ(ended, 100);
}

TEST(CoroWhenAll, GivesTheResultsOfAVectorInItsOrder) {
    pool workers(3u);
    auto number = [](int one) -> task<std::string> {
        for (int i = one; i < 8; i++)
            co_await yield(); // the last one ends first
        co_return std::to_string(one);
    };
    std::atomic<int> ended = 0;
    auto fail = [&](int one) -> task<int> {
        co_await yield();
        ended++;
        if (one % 2 == 1)
            throw one;
        co_return one;
    };
    auto all = [&]() -> task<> {
        std::vector<task<std::string>> tasks;
        std::vector<task<int>> failing;
        for (int i = 0; i < 8; i++) {
            tasks.push_back(number(i));
            failing.push_back(fail(i));
        }
        std::vector<std::string> results = co_await when_all(std::move(tasks));
        EXPECT_EQ(results, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7"}));
        std::vector<int> none = co_await when_all(std::vector<task<int>>());
        EXPECT_TRUE(none.empty());
        int thrown = 0;
        try {
            std::vector<int> numbers = co_await when_all(std::move(failing));
        } catch (int one) {
            thrown = one;
        }
        EXPECT_EQ(thrown, 1);
        EXPECT_EQ(ended, 8);
    };
    sync_wait(workers, all());
}

TEST(CoroWhenAny, StopsTheOthersAndWaitsForThem) {
    pool workers(2u);
    event never;
    std::atomic<int> stopped = 0;
    auto quick = [](std::stop_token) -> task<int> { co_return 5; };
    auto endless = [&](std::stop_token token) -> task<int> {
        if (!co_await never.wait(token))
            stopped++;
        co_return 6;
    };
    auto race = [&]() -> task<int> {
        auto first = co_await when_any(endless, quick, endless);
        EXPECT_EQ(first.index, 1u);
        EXPECT_EQ(stopped, 2);
        co_return first.value;
    };
    EXPECT_EQ(sync_wait(workers, race()), 5);
}

TEST(CoroSleep, TakesItsTimeUnlessStopped) {
    pool workers(2u);
    auto began = deadline_clock::now();
    EXPECT_TRUE(sync_wait(workers, sleep_for(3ms)));
    EXPECT_GE(deadline_clock::now() - began, 3ms);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(sync_wait(workers, sleep_for(1h, stop.get_token())));
}

// One whose time comes after that of a sleep of 1 ms which has begun.
struct later_timer : timer {
    std::atomic<bool> fired = false;

    later_timer() {
        at = deadline_clock::now() + 2ms;
        fire = [](timer &one) noexcept {
            static_cast<later_timer &>(one).fired = true;
            static_cast<later_timer &>(one).fired.notify_all();
        };
    }
};

// Whether a sleep was stopped is decided when it ends, not when its coroutine gets a thread.
TEST(CoroSleep, IsNotStoppedAfterItsTime) {
    pool worker(1u);
    std::stop_source stop;
    std::atomic<bool> sleeps = false;
    gathering all;
    bool passed = false;
    auto sleep = [&]() -> task<> {
        sleeps = true;
        passed = co_await sleep_for(1ms, stop.get_token());
    };
    auto keep_the_worker = [&]() -> task<> {
        while (!sleeps)
            co_await yield();
        later_timer after_it;
        worker.timers().add(after_it);
        after_it.fired.wait(false);
        worker.timers().cancel(after_it); // it may still be at it
        stop.request_stop();
    };
    all.add(worker, sleep());
    all.add(worker, keep_the_worker());
    all.wait();
    EXPECT_TRUE(passed);
}

TEST(CoroSleep, IsStopped) {
    pool worker(2u);
    std::stop_source stop;
    auto sleep = [&]() -> task<bool> {
        auto request = [&] { stop.request_stop(); };
        post(*current_context()->home, request);
        bool passed = co_await sleep_for(1h, stop.get_token());
        co_return passed;
    };
    EXPECT_FALSE(sync_wait(worker, sleep()));
}

// Each ..._until waits no longer than until then, and not at all when what it wants is there.
TEST(CoroUntil, IsATimeOfTheClock) {
    pool worker(1u);
    auto soon = [] { return deadline_clock::now() + 1ms; };
    auto all_reached = [&]() -> task<> {
        mutex guard;
        shared_mutex shared;
        counting_semaphore none(0);
        condition_variable changed;
        channel<int> rendezvous(0);
        event never;
        latch missing(1);
        barrier two(2);
        auto held = co_await guard.scoped_lock();
        auto written = co_await shared.scoped_lock();
        bool locked = co_await guard.try_lock_until(soon());
        auto guarded = co_await guard.try_scoped_lock_until(soon());
        bool ran = co_await guard.try_with_until(soon(), [] {});
        EXPECT_FALSE(locked || guarded || ran);
        bool wrote = co_await shared.try_lock_until(soon());
        bool read = co_await shared.try_lock_shared_until(soon());
        auto guarded_write = co_await shared.try_scoped_lock_until(soon());
        auto guarded_read = co_await shared.try_scoped_lock_shared_until(soon());
        EXPECT_FALSE(wrote || read || guarded_write || guarded_read);
        bool acquired = co_await none.try_acquire_until(soon());
        auto permit = co_await none.try_scoped_acquire_until(soon());
        EXPECT_FALSE(acquired || permit);
        bool notified = co_await changed.wait_until(held, soon());
        bool became_true = co_await changed.wait_until(held, soon(), [] { return false; });
        EXPECT_FALSE(notified || became_true);
        bool sent = co_await rendezvous.send_until(1, soon());
        std::optional<int> received = co_await rendezvous.receive_until(soon());
        EXPECT_FALSE(sent || received);
        bool happened = co_await never.wait_until(soon());
        bool counted = co_await missing.wait_until(soon());
        bool all_came = co_await two.arrive_and_wait_until(soon());
        EXPECT_FALSE(happened || counted || all_came);
        auto then = soon();
        bool passed = co_await sleep_until(then);
        EXPECT_TRUE(passed && deadline_clock::now() >= then);
    };
    sync_wait(worker, all_reached());
    auto none_needed = [&]() -> task<> {
        mutex guard;
        channel<int> with_room(1);
        auto past = deadline_clock::time_point::min();
        bool locked = co_await guard.try_lock_until(past);
        bool sent = co_await with_room.send_until(1, past);
        std::optional<int> received = co_await with_room.receive_until(past);
        EXPECT_TRUE(locked && sent && received == 1);
        co_await guard.unlock();
    };
    sync_wait(worker, none_needed());
}

TEST(CoroSpawn, KeepsTheFunctionWhoseTaskItRuns) {
    pool worker(1u);
    gathering all;
    auto last = std::make_shared<int>(0);
    std::weak_ptr<int> kept = last;
    std::atomic<int> ran = 0;
    {
        auto captured = last;
        spawn(worker, [captured, &ran]() -> task<> {
            co_await yield();
            ran += 1 + *captured;
        });
    }
    last.reset();
    while (!kept.expired()) // until the task has ended
        std::this_thread::yield();
    EXPECT_EQ(ran, 1);
}

TEST(CoroPost, RunsAFunctionOnAWorker) {
    pool worker(1u);
    std::atomic<const executor_base *> where = nullptr;
    post(worker, [&] { where = current_context()->home; });
    while (where == nullptr)
        std::this_thread::yield();
    EXPECT_EQ(where, &worker);
}

TEST(CoroCondition, WaitsForAPredicateWithinLimits) {
    pool workers(2u);
    mutex guard;
    condition_variable changed;
    bool ready = false;
    std::stop_source stop;
    auto is_ready = [&] { return ready; };
    auto in_vain = [&]() -> task<bool> {
        auto held = co_await guard.scoped_lock();
        bool timed = co_await changed.wait_for(held, 1ms, is_ready);
        stop.request_stop();
        bool stopped = co_await changed.wait(held, stop.get_token(), is_ready);
        co_await held.unlock();
        co_return timed || stopped;
    };
    EXPECT_FALSE(sync_wait(workers, in_vain()));
    auto wait = [&]() -> task<bool> {
        auto held = co_await guard.scoped_lock();
        bool was = co_await changed.wait_for(held, 1h, is_ready);
        co_await held.unlock();
        co_return was;
    };
    auto notify_twice = [&]() -> task<> {
        changed.notify_all(); // for nothing
        co_await yield();
        co_await guard.with([&] { ready = true; });
        changed.notify_all();
    };
    spawn(workers, notify_twice());
    EXPECT_TRUE(sync_wait(workers, wait()));
}

TEST(CoroPool, RunsWhatIsSpawnedFromInsideAndOutside) {
    pool workers(3u);
    std::atomic<int> ran = 0;
    gathering all;
    auto leaf = [&]() -> task<> {
        ran++;
        co_return;
    };
    auto tree = [&]() -> task<> {
        for (int i = 0; i < 1000; i++)
            all.add(workers, leaf());
        co_return;
    };
    all.add(workers, tree());
    all.add(workers, tree());
    for (int i = 0; i < 1000; i++)
        all.add(workers, leaf());
    all.wait();
    EXPECT_EQ(ran, 3000);
    workers.shutdown();
    std::uint64_t resumed = 0;
    for (const auto &one : workers.counts())
        resumed += one.resumed;
    EXPECT_GE(resumed, 3002u);
}

// pool.P1: each round ends with all workers asleep, or about to be; a lost wake-up ends the test at its time limit.
TEST(CoroPool, LosesNoWakeUp) {
    pool workers(4u);
    pool others(2u);
    for (int round = 0; round < 2000; round++) {
        auto there = [&]() -> task<> {
            co_await resume_on(others);
            co_await resume_on(workers);
        };
        sync_wait(workers, there());
    }
}

// pool.P1 (worker_sleep.hpp): a task that is ready is run, also one that was queued by a coroutine which keeps its
// worker.
TEST(CoroPool, RunsWhatIsReadyBehindOneThatKeepsItsWorker) {
    pool workers(2u);
    for (int round = 0; round < 300; round++) {
        std::atomic<int> ran = 0;
        gathering all;
        auto leaf = [&]() -> task<> {
            ran++;
            co_return;
        };
        auto keep = [&]() -> task<> {
            int leaves = 1 + round % 40;
            for (int i = 0; i < leaves; i++)
                all.add(workers, leaf());
            while (ran < leaves)
                std::this_thread::yield();
            co_return;
        };
        all.add(workers, keep());
        all.wait();
    }
}

TEST(CoroPool, EndsWhileSomebodyWaitsForATask) {
    pool workers(2u);
    event never;
    std::atomic<bool> waits = false;
    auto wait = [&]() -> task<> {
        waits = true;
        co_await never.wait();
    };
    std::thread ends([&] {
        while (!waits)
            std::this_thread::yield();
        workers.shutdown();
    });
    EXPECT_THROW(sync_wait(workers, wait()), executor_stopped);
    ends.join();
    EXPECT_THROW(sync_wait(workers, wait()), executor_stopped); // and after it
}

} // namespace
