// SPDX-License-Identifier: MIT OR Apache-2.0
// Channels without a bound, a value sent once, broadcasts, and tasks that receive from several channels at once
// (coro.N1 to N4, O1, O2, K1, K2). The bounded channel: primitives_test. Breaks that it sees:
// docs/coroutines-checks.md.
#include <array>
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "coro/let_others_run.hpp"
#include "holdfast/coro/broadcast.hpp"
#include "holdfast/coro/channel.hpp"
#include "holdfast/coro/event.hpp"
#include "holdfast/coro/oneshot.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/select.hpp"
#include "holdfast/coro/spawn.hpp"
#include "holdfast/coro/unbounded_channel.hpp"
#include "holdfast/coro/when_all.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

TEST(CoroChannel, SaysHowManyValuesLieThere) {
    channel<int> values(2);
    EXPECT_EQ(values.capacity(), 2u);
    EXPECT_EQ(values.size(), 0u);
    int one = 1;
    EXPECT_TRUE(values.try_send(one));
    EXPECT_TRUE(values.try_send(one));
    EXPECT_FALSE(values.try_send(one));
    EXPECT_EQ(values.size(), 2u);
    EXPECT_TRUE(values.try_receive());
    EXPECT_EQ(values.size(), 1u);
}

TEST(CoroUnboundedChannel, KeepsAllInOrder) {
    pool workers(1);
    unbounded_channel<std::unique_ptr<int>> values;
    for (int i = 0; i < 1000; i++)
        EXPECT_TRUE(values.send(std::make_unique<int>(i)));
    EXPECT_EQ(values.size(), 1000u);
    values.close();
    EXPECT_FALSE(values.send(nullptr));
    auto receive = [&]() -> task<> {
        for (int i = 0; i < 1000; i++) {
            std::optional<std::unique_ptr<int>> got = co_await values.receive();
            EXPECT_TRUE(got && *got && **got == i) << i;
        }
        std::optional<std::unique_ptr<int>> nothing = co_await values.receive();
        EXPECT_FALSE(nothing);
    };
    sync_wait(workers, receive());
    EXPECT_FALSE(values.try_receive());
}

TEST(CoroUnboundedChannel, DropsWhatNobodyReceives) {
    auto one = std::make_shared<int>(1);
    {
        unbounded_channel<std::shared_ptr<int>> values;
        for (int i = 0; i < 100000; i++) // their end must not need the stack
            values.send(one);
    }
    EXPECT_EQ(one.use_count(), 1);
}

TEST(CoroUnboundedChannel, LetsThoseGoThatWait) {
    pool workers(2);
    unbounded_channel<int> values;
    std::atomic<int> sum = 0, received = 0;
    auto receive = [&]() -> task<> {
        for (;;) {
            std::optional<int> got = co_await values.receive();
            if (!got)
                co_return;
            sum += *got;
            received++;
        }
    };
    std::thread outside([&] {
        for (int i = 1; i <= 2000; i++)
            EXPECT_TRUE(values.send(i));
        values.close();
    });
    std::vector<task<>> all;
    for (int i = 0; i < 4; i++)
        all.push_back(receive());
    sync_wait(workers, when_all(std::move(all)));
    outside.join();
    EXPECT_EQ(received, 2000);
    EXPECT_EQ(sum, 2001000);
    EXPECT_FALSE(sync_wait(workers, values.receive_for(1ms)));
}

TEST(CoroUnboundedChannel, HasLimits) {
    pool workers(1);
    unbounded_channel<int> values;
    std::stop_source stop;
    EXPECT_FALSE(sync_wait(workers, values.receive_for(1ms)));
    stop.request_stop();
    EXPECT_FALSE(sync_wait(workers, values.receive(stop.get_token())));
    EXPECT_FALSE(values.closed());
}

TEST(CoroOneshot, IsSentOnce) {
    pool workers(2);
    for (int round = 0; round < 500; round++) {
        std::optional<std::string> got;
        auto ask = [&]() -> task<> {
            oneshot<std::string> reply; // gone as soon as the value is there
            spawn(workers, [&reply]() -> task<> {
                reply.send("the reply");
                co_return;
            });
            got = co_await reply.receive();
        };
        sync_wait(workers, ask());
        EXPECT_EQ(got, "the reply");
    }
    oneshot<int> one;
    EXPECT_FALSE(one.settled());
    EXPECT_TRUE(one.send(1));
    EXPECT_FALSE(one.send(2));
    EXPECT_TRUE(one.settled());
    EXPECT_EQ(sync_wait(workers, one.receive()), 1);
    EXPECT_EQ(sync_wait(workers, one.receive()), std::nullopt);
}

TEST(CoroOneshot, IsClosedAndHasLimits) {
    pool workers(1);
    oneshot<int> one;
    EXPECT_EQ(sync_wait(workers, one.receive_for(1ms)), std::nullopt);
    auto close = [&]() -> task<> {
        co_await let_others_run();
        one.close();
    };
    auto receive = [&]() -> task<> {
        std::optional<int> got = co_await one.receive();
        EXPECT_FALSE(got);
    };
    auto both = [&]() -> task<> { co_await when_all(receive(), close()); };
    sync_wait(workers, both());
    EXPECT_FALSE(one.send(1));
}

task<std::vector<int>> receive_all(broadcast<int>::receiver &from) {
    std::vector<int> all;
    for (;;) {
        std::shared_ptr<const int> one = co_await from.receive();
        if (!one)
            co_return all;
        all.push_back(*one);
    }
}

TEST(CoroBroadcast, GivesEachReceiverAllFromWhenItWasMade) {
    pool workers(2);
    broadcast<int> values(100);
    EXPECT_TRUE(values.send(0));
    broadcast<int>::receiver early(values);
    auto send = [&]() -> task<> {
        for (int i = 1; i <= 50; i++) {
            values.send(i);
            co_await yield();
        }
        values.close();
    };
    broadcast<int>::receiver another(values);
    auto all = [&]() -> task<> {
        auto [a, b, c] = co_await when_all(receive_all(early), receive_all(another), send());
        static_cast<void>(c);
        std::vector<int> expected(50);
        std::iota(expected.begin(), expected.end(), 1);
        EXPECT_EQ(a, expected);
        EXPECT_EQ(b, expected);
    };
    sync_wait(workers, all());
    EXPECT_TRUE(values.closed());
    EXPECT_FALSE(values.send(1));
    EXPECT_EQ(early.missed(), 0u);
    broadcast<int>::receiver late(values);
    EXPECT_FALSE(late.try_receive());
    EXPECT_FALSE(sync_wait(workers, late.receive()));
}

TEST(CoroBroadcast, CountsWhatAReceiverMisses) {
    pool workers(1);
    broadcast<int> values(4);
    broadcast<int>::receiver slow(values);
    for (int i = 0; i < 10; i++)
        values.send(i);
    std::shared_ptr<const int> first = slow.try_receive();
    EXPECT_TRUE(first && *first == 6);
    EXPECT_EQ(slow.missed(), 6u);
    values.close();
    EXPECT_EQ(sync_wait(workers, receive_all(slow)), (std::vector<int>{7, 8, 9}));
    EXPECT_EQ(slow.missed(), 6u);
}

TEST(CoroBroadcast, HasLimits) {
    pool workers(1);
    broadcast<int> values(1);
    broadcast<int>::receiver one(values);
    EXPECT_FALSE(sync_wait(workers, one.receive_for(1ms)));
    values.send(3);
    std::shared_ptr<const int> got = sync_wait(workers, one.receive_for(1h));
    EXPECT_TRUE(got && *got == 3);
}

TEST(CoroSelect, TakesWhatIsThereInOrder) {
    pool workers(1);
    channel<int> numbers(2);
    unbounded_channel<std::string> words;
    auto begin = [&]() -> task<> {
        int one = 1;
        EXPECT_TRUE(numbers.try_send(one));
        words.send("word");
        auto got = co_await select(words, numbers);
        EXPECT_TRUE(got && got->index() == 0 && std::get<0>(*got) == "word");
        got = co_await select(words, numbers);
        EXPECT_TRUE(got && got->index() == 1 && std::get<1>(*got) == 1);
        EXPECT_EQ(numbers.size(), 0u);
        numbers.close();
        words.send("the last"); // one that is closed is passed by
        got = co_await select(words, numbers);
        EXPECT_TRUE(got && got->index() == 0);
        words.close();
        got = co_await select(words, numbers);
        EXPECT_FALSE(got);
    };
    sync_wait(workers, begin());
}

// coro.N4: one that waits at two gets one value; the other one stays for others.
TEST(CoroSelect, GetsOneOfTwoThatCome) {
    pool workers(1);
    for (bool rendezvous : {false, true}) {
        channel<int> first(rendezvous ? 0 : 1), second(rendezvous ? 0 : 1);
        event both_sent;
        auto receive = [&]() -> task<> {
            auto got = co_await select(first, second);
            EXPECT_TRUE(got && got->index() == 1 && std::get<1>(*got) == 2);
            co_await both_sent.wait();
            std::optional<int> other = co_await first.receive();
            EXPECT_EQ(other, 1);
            EXPECT_FALSE(second.try_receive());
        };
        auto send = [&]() -> task<> {
            co_await let_others_run();
            int one = 1, two = 2;
            EXPECT_TRUE(second.try_send(two)); // the task that waits is let go, and does not run before this one
            EXPECT_EQ(first.try_send(one), !rendezvous) << "the place was passed by, or not";
            both_sent.set();
            if (rendezvous) {
                bool sent = co_await first.send(1);
                EXPECT_TRUE(sent);
            }
        };
        auto both = [&]() -> task<> { co_await when_all(receive(), send()); };
        sync_wait(workers, both());
    }
}

TEST(CoroSelect, GoesOnWaitingWhenOneOfThemIsClosed) {
    pool workers(1);
    channel<int> first(1), second(1);
    auto receive = [&]() -> task<> {
        auto got = co_await select(first, second);
        EXPECT_TRUE(got && got->index() == 1);
        got = co_await select(first, second);
        EXPECT_FALSE(got);
    };
    auto send = [&]() -> task<> {
        co_await let_others_run();
        first.close();
        co_await let_others_run();
        int two = 2;
        EXPECT_TRUE(second.try_send(two));
        co_await let_others_run();
        second.close();
    };
    auto both = [&]() -> task<> { co_await when_all(receive(), send()); };
    sync_wait(workers, both());
}

TEST(CoroSelect, HasLimits) {
    pool workers(1);
    channel<int> first(1), second(0);
    std::stop_source stop;
    EXPECT_FALSE(sync_wait(workers, select_for(1ms, first, second)));
    EXPECT_FALSE(sync_wait(workers, select_until(deadline_clock::now() - 1s, first, second)));
    auto receive = [&]() -> task<> {
        auto got = co_await select(stop.get_token(), first, second);
        EXPECT_FALSE(got);
    };
    auto end = [&]() -> task<> {
        co_await let_others_run();
        stop.request_stop();
    };
    auto both = [&]() -> task<> { co_await when_all(receive(), end()); };
    sync_wait(workers, both());
    int one = 1;
    EXPECT_TRUE(first.try_send(one)) << "it has left its place";
    EXPECT_EQ(first.size(), 1u);
    EXPECT_FALSE(second.try_send(one));
}

// All at once: each value is received once, by a select or by a receiver, while limits are reached.
TEST(CoroSelect, LosesAndDoublesNothing) {
    pool workers(2), others(2);
    constexpr int values_each = 3000, senders = 2;
    channel<int> bounded(2), rendezvous(0);
    unbounded_channel<int> unbounded;
    std::array<std::vector<int>, 5> got;
    std::atomic<int> senders_left = 3 * senders;
    auto selects = [&](std::size_t me) -> task<> {
        for (std::size_t round = me;; round++) {
            auto one = co_await select_for(std::chrono::microseconds(round % 90), bounded, unbounded, rendezvous);
            if (one)
                got[me].push_back(std::visit([](int value) { return value; }, *one));
            else if (bounded.closed() && unbounded.closed() && rendezvous.closed() && unbounded.size() == 0 &&
                     bounded.size() == 0)
                co_return;
        }
    };
    auto receives = [&](std::size_t me, auto &from) -> task<> {
        for (;;) {
            std::optional<int> one = co_await from.receive();
            if (!one)
                co_return;
            got[me].push_back(*one);
        }
    };
    auto send = [&](int what, int kind) -> task<> {
        for (int i = 0; i < values_each; i++) {
            int value = what * values_each + i;
            bool was_sent = true;
            if (kind == 0)
                was_sent = co_await bounded.send(value);
            else if (kind == 1)
                was_sent = unbounded.send(value);
            else
                was_sent = co_await rendezvous.send(value);
            EXPECT_TRUE(was_sent);
            if (i % 16 == 0)
                co_await yield();
        }
        if (senders_left.fetch_sub(1) == 1) {
            bounded.close();
            unbounded.close();
            rendezvous.close();
        }
    };
    std::vector<task<>> here, there;
    for (std::size_t me = 0; me < 3; me++)
        (me % 2 ? here : there).push_back(selects(me));
    there.push_back(receives(3, bounded));
    here.push_back(receives(4, rendezvous));
    for (int i = 0; i < 3 * senders; i++)
        (i % 2 ? here : there).push_back(send(i, i % 3));
    std::thread outside([&] { sync_wait(others, when_all(std::move(there))); });
    sync_wait(workers, when_all(std::move(here)));
    outside.join();
    std::vector<int> times(3 * senders * values_each);
    for (const std::vector<int> &some : got)
        for (int one : some)
            times[static_cast<std::size_t>(one)]++;
    EXPECT_EQ(times, std::vector<int>(times.size(), 1));
}

TEST(CoroSelect, PoolsEndWhileTasksWait) {
    pool lives(1);
    channel<int> first(1), second(0);
    std::atomic<bool> over = false;
    std::atomic<int> sent = 0;
    std::thread outside([&] {
        while (!over) {
            int one = 1;
            sent += first.try_send(one) ? 1 : 0;
            sent += second.try_send(one) ? 1 : 0;
            std::this_thread::yield();
        }
    });
    for (int round = 0; round < 200; round++) {
        pool ends(2);
        for (int i = 0; i < 4; i++)
            spawn(ends, [&]() -> task<> {
                for (;;)
                    static_cast<void>(co_await select_for(1ms, first, second));
            });
        std::this_thread::sleep_for(std::chrono::microseconds(round));
    }
    over = true;
    outside.join();
    static_cast<void>(first.try_receive());
    int one = 1;
    EXPECT_TRUE(first.try_send(one)) << "somebody is in its list still";
    EXPECT_FALSE(second.try_send(one));
}

} // namespace
