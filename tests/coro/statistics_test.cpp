// SPDX-License-Identifier: MIT OR Apache-2.0
// What is counted of a mutex whose hand-overs are known: one worker, waiters that came in a known order.
//
// Shown able to fail: see docs/coroutines-checks.md.
#include "holdfast/coro/statistics.hpp"

#include <cstdio>
#include <gtest/gtest.h>
#include <memory>

#include "coro/gathering.hpp"
#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

class CoroStatistics : public testing::Test {
protected:
    CoroStatistics() {
        statistics::reset();
        statistics::count(true);
    }
    ~CoroStatistics() override { statistics::count(false); }

    static primitive_counts of(const void *address) {
        for (const primitive_counts &one : statistics::read())
            if (one.address == address)
                return one;
        return {};
    }
};

// Has `waiters` tasks wait for the mutex, which the caller has, on the only worker.
// They use `work` until they end.
template <class Work>
task<> let_them_wait(executor_base &on, gathering &all, int waiters, Work &work) {
    for (int i = 0; i < waiters; i++)
        all.add(on, work());
    for (int turn = 0; turn < 3 * waiters + 60; turn++)
        co_await yield(); // the only worker has come to each of them
}

// Runs `waiters` tasks, all of which have to wait, and unlocks as `unlock` does.
template <class Mutex, class Work, class Unlock>
void contend(Mutex &guard, int waiters, Work work, Unlock unlock) {
    pool worker(pool_options{1, 64});
    gathering all;
    auto lead = [&]() -> task<> {
        auto held = co_await guard.scoped_lock();
        co_await let_them_wait(worker, all, waiters, work);
        co_await unlock(std::move(held));
    };
    sync_wait(worker, lead());
    all.wait();
}

template <policy Policy>
task<> unlock_well(basic_scoped_lock<Policy> held) {
    co_await held.unlock();
}
template <policy Policy>
task<> unlock_by_destructor(basic_scoped_lock<Policy> held) {
    { auto gone = std::move(held); }
    co_return;
}

template <class Mutex>
auto lock_and_unlock(Mutex &guard) {
    return [&guard]() -> task<> {
        co_await guard.lock();
        co_await guard.unlock();
    };
}

TEST_F(CoroStatistics, CountsHandOversByTheirWay) {
    mutex guard;
    contend(guard, 40, lock_and_unlock(guard), unlock_well<policy::ces>);
    primitive_counts counts = of(&guard);
    EXPECT_EQ(counts.kind, primitive_kind::mutex);
    EXPECT_EQ(counts.hand_overs(), 40u);
    EXPECT_EQ(counts.by(passage::at_once), 40u);
    EXPECT_EQ(counts.delays.total(), 40u);
}

// 64 in a row, and the next one goes through the queue; then a new chain.
TEST_F(CoroStatistics, CountsTheEndsOfChains) {
    mutex guard;
    contend(guard, 100, lock_and_unlock(guard), unlock_well<policy::ces>);
    EXPECT_EQ(of(&guard).by(passage::chain_end), 1u);
    EXPECT_EQ(of(&guard).by(passage::at_once), 99u);
}

TEST_F(CoroStatistics, CountsHandOversByDestructors) {
    mutex guard;
    auto work = [&]() -> task<> { co_await unlock_by_destructor(co_await guard.scoped_lock()); };
    contend(guard, 10, work, unlock_by_destructor<policy::ces>);
    EXPECT_EQ(of(&guard).by(passage::destructor), 10u);
    EXPECT_EQ(of(&guard).hand_overs(), 10u);
}

TEST_F(CoroStatistics, CountsFunctionsThatWereCombined) {
    mutex guard;
    int ran = 0;
    auto work = [&]() -> task<> { co_await guard.with([&] { ran++; }); };
    contend(guard, 30, work, unlock_well<policy::ces>);
    EXPECT_EQ(ran, 30);
    EXPECT_EQ(of(&guard).by(passage::combined), 30u);
    EXPECT_EQ(of(&guard).hand_overs(), 30u);
}

TEST_F(CoroStatistics, CountsThePoliciesApart) {
    dispatch_mutex queued;
    contend(queued, 20, lock_and_unlock(queued), unlock_well<policy::dispatch>);
    EXPECT_EQ(of(&queued).by(passage::queued), 20u);
    inline_mutex at_once;
    contend(at_once, 20, lock_and_unlock(at_once), unlock_well<policy::inline_>);
    EXPECT_EQ(of(&at_once).by(passage::at_once), 20u);
}

TEST_F(CoroStatistics, CountsWaitersThatGaveUp) {
    pool workers(2u);
    mutex guard;
    ASSERT_TRUE(guard.try_lock());
    auto give_up = [&](auto limit) -> task<bool> { co_return co_await guard.try_lock_for(limit); };
    for (auto limit = 10ms; of(&guard).given_up == 0; limit *= 2) { // which may be over before it waits
        ASSERT_LT(limit, 60s);
        EXPECT_FALSE(sync_wait(workers, give_up(limit)));
    }
    EXPECT_EQ(of(&guard).given_up, 1u);
    EXPECT_EQ(of(&guard).hand_overs(), 0u);
}

TEST_F(CoroStatistics, CountsWaitersThatGaveUpACondition) {
    pool worker(1u);
    mutex guard;
    condition_variable never;
    auto give_up = [&](auto limit) -> task<> {
        auto held = co_await guard.scoped_lock();
        static_cast<void>(co_await never.wait_for(held, limit));
        co_await held.unlock();
    };
    auto limit = 1ms;
    for (std::uint64_t times = 0; times < 5;) { // a limit may be over before it waits
        ASSERT_LT(limit, 60s);
        sync_wait(worker, give_up(limit));
        std::uint64_t counted = of(&never).given_up;
        EXPECT_TRUE(counted == times || counted == times + 1);
        if (counted == times)
            limit *= 2;
        times = counted;
    }
    EXPECT_EQ(of(&never).hand_overs(), 0u);
}

// They are of no primitive, and there is room for so many only.
TEST_F(CoroStatistics, KnowsNothingOfSleeps) {
    pool worker(1u);
    auto sleep = []() -> task<> { static_cast<void>(co_await sleep_for(1ms)); };
    std::size_t before = statistics::read().size();
    sync_wait(worker, sleep());
    EXPECT_EQ(statistics::read().size(), before);
}

TEST_F(CoroStatistics, CountsEachKind) {
    pool worker(1u);
    counting_semaphore permits(0);
    shared_mutex shared;
    channel<int> values(0);
    auto_event happened;
    latch counted(1);
    barrier together(2);
    mutex guard;
    condition_variable changed;
    gathering all;
    auto waits = [&]() -> task<> {
        co_await permits.acquire();
        co_await shared.lock_shared();
        co_await shared.unlock_shared();
        static_cast<void>(co_await values.receive());
        co_await happened.wait();
        co_await counted.wait();
        co_await together.arrive_and_wait();
        auto held = co_await guard.scoped_lock();
        static_cast<void>(co_await changed.wait(held));
        co_await held.unlock();
    };
    auto come_to_it = []() -> task<> {
        for (int turn = 0; turn < 60; turn++)
            co_await yield();
    };
    auto leads = [&]() -> task<> {
        co_await shared.lock();
        all.add(worker, waits());
        co_await come_to_it();
        co_await permits.release();
        co_await come_to_it();
        co_await shared.unlock();
        co_await come_to_it();
        static_cast<void>(co_await values.send(1));
        co_await come_to_it();
        happened.set();
        co_await come_to_it();
        counted.count_down();
        co_await come_to_it();
        co_await together.arrive_and_wait();
        co_await come_to_it();
        changed.notify_one();
    };
    sync_wait(worker, leads());
    all.wait();
    const std::pair<const void *, primitive_kind> every[] = {{&permits, primitive_kind::semaphore},
                                                             {&shared, primitive_kind::shared_mutex},
                                                             {&values, primitive_kind::channel},
                                                             {&happened, primitive_kind::event},
                                                             {&counted, primitive_kind::event},
                                                             {&together, primitive_kind::barrier},
                                                             {&changed, primitive_kind::condition_variable}};
    for (auto [address, kind] : every) {
        EXPECT_EQ(of(address).kind, kind);
        EXPECT_EQ(of(address).hand_overs(), 1u) << name_of(kind);
    }
    EXPECT_EQ(of(&permits).by(passage::at_once), 1u);
    EXPECT_EQ(of(&shared).by(passage::at_once), 1u);
    EXPECT_EQ(of(&happened).by(passage::queued), 1u);
}

TEST_F(CoroStatistics, CountsNothingWhenItIsOff) {
    statistics::count(false);
    mutex guard;
    contend(guard, 20, lock_and_unlock(guard), unlock_well<policy::ces>);
    EXPECT_EQ(of(&guard).hand_overs(), 0u);
}

// More than there is room for: nothing is lost, the rest is counted together.
TEST_F(CoroStatistics, PrimitivesWithoutRoomAreCountedTogether) {
    constexpr std::size_t many = statistics::primitives_max + 200;
    pool worker(1u);
    auto events = std::make_unique<auto_event[]>(many);
    std::uint64_t before = 0, after = 0;
    for (const primitive_counts &one : statistics::read())
        before += one.hand_overs();
    gathering all;
    auto wait = [&]() -> task<> {
        for (std::size_t i = 0; i < many; i++)
            co_await events[i].wait();
    };
    auto lead = [&]() -> task<> {
        all.add(worker, wait());
        for (std::size_t i = 0; i < many; i++) {
            co_await yield();
            co_await yield(); // it waits for this one
            events[i].set();
        }
    };
    sync_wait(worker, lead());
    all.wait();
    bool others = false;
    for (const primitive_counts &one : statistics::read()) {
        after += one.hand_overs();
        others = others || (!one.address && one.kind == primitive_kind::event && one.hand_overs() >= 200);
    }
    EXPECT_TRUE(others);
    EXPECT_EQ(after - before, many);
}

TEST_F(CoroStatistics, PrintsATableWithNames) {
    mutex guard;
    statistics::name(guard, "accounts");
    contend(guard, 5, lock_and_unlock(guard), unlock_well<policy::ces>);
    EXPECT_EQ(of(&guard).name, "accounts");
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::tmpfile(), std::fclose);
    ASSERT_TRUE(file);
    statistics::print(file.get());
    std::string text(static_cast<std::size_t>(std::ftell(file.get())), '\0');
    std::rewind(file.get());
    ASSERT_EQ(std::fread(text.data(), 1, text.size(), file.get()), text.size());
    EXPECT_NE(text.find("mutex accounts"), std::string::npos) << text;
}

TEST(CoroDelays, AreSortedByPowersOfTwo) {
    EXPECT_EQ(delay_histogram::bucket_of(0), 0u);
    EXPECT_EQ(delay_histogram::bucket_of(1), 1u);
    EXPECT_EQ(delay_histogram::bucket_of(1023), 10u);
    EXPECT_EQ(delay_histogram::bucket_of(1024), 11u);
    EXPECT_EQ(delay_histogram::bucket_of(~std::uint64_t{0}), delay_histogram::buckets - 1);
    delay_histogram delays;
    EXPECT_EQ(delays.percentile_ns(50), 0u);
    delays.counts[4] = 99;
    delays.counts[10] = 1;
    EXPECT_EQ(delays.percentile_ns(50), 16u);
    EXPECT_EQ(delays.percentile_ns(99), 16u);
    EXPECT_EQ(delays.percentile_ns(100), 1024u);
}

} // namespace
