// SPDX-License-Identifier: MIT OR Apache-2.0
// Which tasks wait for what, and who awaits them. Shown able to fail: docs/coroutines-checks.md.
#include "holdfast/coro/waits.hpp"

#include <cstdio>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "coro/let_others_run.hpp"
#include "holdfast/coro/coro.hpp"
#include "holdfast/coro/statistics.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

template <class Wait>
task<> innermost(Wait wait) {
    static_cast<void>(co_await wait());
}
template <class Wait>
task<> middle(Wait wait) {
    co_await innermost(wait);
}
template <class Wait>
task<> outermost(Wait wait) {
    co_await middle(wait);
}

struct watched {
    watched() { waits::watch(true); }
    ~watched() { waits::watch(false); }
};

// Without the arguments, of which g++ says nothing but the frame.
testing::AssertionResult is_called(const std::string &what, const coroutine_name &one) {
    std::string tail = "::" + what;
    bool called = one.function.size() > tail.size() &&
                  (one.function.ends_with(tail) || one.function.find(tail + "(") != std::string::npos);
    return called ? testing::AssertionSuccess() : testing::AssertionFailure() << one.function << " is not " << what;
}

// `wait` waits for something for which `let_go` ends the wait.
template <class Wait, class LetGo>
void is_seen(const char *what, const void *primitive, primitive_kind kind, Wait wait, LetGo let_go) {
    SCOPED_TRACE(what);
    watched now;
    pool worker(1u);
    std::optional<std::vector<waiting_task>> during, after;
    auto look = [&]() -> task<> {
        co_await let_others_run();
        during = waits::read();
        let_go();
        co_await let_others_run();
        after = waits::read();
    };
    auto both = [&]() -> task<> { co_await when_all(outermost(wait), look()); };
    sync_wait(worker, both());
    ASSERT_TRUE(during && after);
    ASSERT_EQ(during->size(), 1u);
    const waiting_task &one = during->front();
    EXPECT_EQ(one.address, primitive);
    EXPECT_EQ(one.kind, kind);
    ASSERT_FALSE(one.stack.empty());
    std::size_t inner = is_called("innermost", one.stack[0]) ? 0 : 1; // select() and sleep_for() are tasks themselves
    ASSERT_GE(one.stack.size(), inner + 3);
    EXPECT_TRUE(is_called("innermost", one.stack[inner]));
    EXPECT_TRUE(is_called("middle", one.stack[inner + 1]));
    EXPECT_TRUE(is_called("outermost", one.stack[inner + 2]));
    EXPECT_NE(one.stack[inner].file.find("waits_test.cpp"), std::string::npos);
    EXPECT_TRUE(after->empty()) << "it waits no more";
}

TEST(CoroWaits, ShowEachKindWithItsStack) {
    event set;
    is_seen(
        "event", &set, primitive_kind::event, [&] { return set.wait(); }, [&] { set.set(); });
    std::stop_source stop;
    event never;
    is_seen(
        "event with a limit", &never, primitive_kind::event, [&] { return never.wait(stop.get_token()); },
        [&] { stop.request_stop(); });
    mutex guard;
    EXPECT_TRUE(guard.try_lock());
    is_seen(
        "mutex", &guard, primitive_kind::mutex, [&] { return guard.lock(); }, [&] { guard.unlock_unsuspended(); });
    is_seen(
        "section", &guard, primitive_kind::mutex, [&] { return guard.with([] {}); },
        [&] { guard.unlock_unsuspended(); });
    counting_semaphore permits(0);
    is_seen(
        "semaphore", &permits, primitive_kind::semaphore, [&] { return permits.acquire(); },
        [&] { permits.release_unsuspended(); });
    channel<int> values(1);
    is_seen(
        "channel", &values, primitive_kind::channel, [&] { return values.receive(); },
        [&] {
            int one = 1;
            static_cast<void>(values.try_send(one));
        });
    channel<int> others(1);
    is_seen(
        "select", &values, primitive_kind::channel, [&] { return select(values, others); },
        [&] {
            int one = 1;
            static_cast<void>(others.try_send(one));
        });
}

TEST(CoroWaits, SleepsAreSeen) {
    std::stop_source stop, another;
    is_seen(
        "sleep_for", nullptr, primitive_kind::sleep, [&] { return sleep_for(1h, stop.get_token()); },
        [&] { stop.request_stop(); });
    is_seen(
        "sleep_until", nullptr, primitive_kind::sleep,
        [&] { return sleep_until(deadline_clock::now() + 1h, another.get_token()); }, [&] { another.request_stop(); });
}

TEST(CoroWaits, LimitsAreSeen) {
    watched now;
    pool worker(1u);
    event set;
    std::stop_source stop;
    auto waits_long = [&]() -> task<> {
        bool came = co_await set.wait_for(1h);
        EXPECT_TRUE(came);
        co_await set.wait(); // is set: does not wait
        set.reset();
        co_await set.wait();
    };
    auto sleeps = [&]() -> task<> {
        bool slept = co_await sleep_for(1h, stop.get_token());
        EXPECT_FALSE(slept);
    };
    auto look = [&]() -> task<> {
        co_await let_others_run();
        std::vector<waiting_task> during = waits::read();
        EXPECT_EQ(during.size(), 2u);
        for (const waiting_task &one : during) {
            EXPECT_GT(one.left_ns.value_or(0), 3'500'000'000'000u);
            EXPECT_LE(one.left_ns.value_or(0), 3'600'000'000'000u);
        }
        set.set();
        stop.request_stop();
        co_await let_others_run();
        std::vector<waiting_task> after = waits::read();
        EXPECT_EQ(after.size(), 1u);
        EXPECT_TRUE(!after.empty() && !after[0].left_ns) << "a wait without a limit, after one that had one";
        set.set();
    };
    auto all = [&]() -> task<> { co_await when_all(waits_long(), sleeps(), look()); };
    sync_wait(worker, all());
}

TEST(CoroWaits, AConditionVariableIsSeen) {
    watched now;
    pool worker(1u);
    mutex guard;
    condition_variable changed;
    std::stop_source stop;
    auto wait = [&]() -> task<> {
        auto held = co_await guard.scoped_lock();
        co_await changed.wait(held);
        bool notified = co_await changed.wait(held, stop.get_token());
        EXPECT_FALSE(notified);
        co_await held.unlock();
        co_await let_others_run(); // its frame is still there
    };
    auto look = [&]() -> task<> {
        co_await let_others_run();
        std::vector<waiting_task> during = waits::read();
        EXPECT_EQ(during.size(), 1u);
        EXPECT_TRUE(!during.empty() && during[0].kind == primitive_kind::condition_variable);
        changed.notify_all();
        co_await let_others_run();
        EXPECT_EQ(waits::read().size(), 1u);
        stop.request_stop();
        for (int i = 0; i < 4; i++)
            co_await yield();
        EXPECT_TRUE(waits::read().empty());
    };
    auto both = [&]() -> task<> { co_await when_all(wait(), look()); };
    sync_wait(worker, both());
}

TEST(CoroWaits, FramesThatHaveGoneAreForgotten) {
    watched now;
    event never;
    {
        pool worker(1u);
        spawn(worker, outermost([&] { return never.wait(); }));
        auto look = []() -> task<std::size_t> {
            co_await let_others_run();
            co_return waits::read().size();
        };
        EXPECT_EQ(sync_wait(worker, look()), 1u);
    }
    EXPECT_TRUE(waits::read().empty());
}

TEST(CoroWaits, ArePrintedByName) {
    watched now;
    event never;
    statistics::name(never, "the end of time");
    pool worker(1u);
    spawn(worker, outermost([&] { return never.wait(); }));
    auto let_it_wait = []() -> task<> { co_await let_others_run(); };
    sync_wait(worker, let_it_wait());
    std::FILE *to = std::tmpfile();
    ASSERT_TRUE(to);
    waits::print(to);
    std::string said(4096, '\0');
    std::rewind(to);
    said.resize(std::fread(said.data(), 1, said.size(), to));
    std::fclose(to);
    EXPECT_EQ(said.find("event the end of time, for "), 0u) << said;
    EXPECT_NE(said.find("outermost"), std::string::npos) << said;
    EXPECT_EQ(said.find("more"), std::string::npos) << said;
    waits::watch(false);
    EXPECT_TRUE(waits::read().empty());
    EXPECT_FALSE(waits::watching());
}

} // namespace
