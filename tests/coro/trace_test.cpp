// SPDX-License-Identifier: MIT OR Apache-2.0
// The trace of a program whose sections are known: what it says, and that Perfetto can draw it.
//
// Shown able to fail: see docs/coroutines-checks.md.
#include "holdfast/coro/trace.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "coro/gathering.hpp"
#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using nlohmann::json;

struct slice {
    std::string name;
    std::int64_t from_ns = 0, until_ns = 0;
};
using track = std::pair<int, int>;
using slices = std::map<track, std::vector<slice>>;

constexpr int threads_group = 1, mutexes_group = 2;

std::int64_t to_ns(double us) {
    return std::llround(us * 1000);
}

// By track, in the order of their beginnings, longer ones first.
slices slices_of(const json &trace) {
    slices found;
    for (const json &one : trace.at("traceEvents"))
        if (one.at("ph") == "X") {
            std::int64_t from_ns = to_ns(one.at("ts").get<double>());
            found[{one.at("pid").get<int>(), one.at("tid").get<int>()}].push_back(
                {one.at("name"), from_ns, from_ns + to_ns(one.at("dur").get<double>())});
        }
    for (auto &[where, all] : found)
        std::stable_sort(all.begin(), all.end(), [](const slice &a, const slice &b) {
            return a.from_ns != b.from_ns ? a.from_ns < b.from_ns : a.until_ns > b.until_ns;
        });
    return found;
}

json traced() {
    trace::stop();
    std::ostringstream text;
    trace::write(text);
    return json::parse(text.str());
}

template <class Mutex>
task<> lock_and_unlock(Mutex &guard, int times) {
    for (int i = 0; i < times; i++) {
        co_await guard.lock();
        if (i % 4 == 0)
            co_await yield(); // the section lies in two runs
        co_await guard.unlock();
    }
}

// As many sections as there were; on one track they lie beside or inside each other.
TEST(CoroTrace, HasEachSectionOnce) {
    constexpr int tasks = 40, times = 20;
    trace::start();
    {
        pool workers(3u);
        mutex guard;
        gathering all;
        for (int i = 0; i < tasks; i++) {
            all.add(workers, lock_and_unlock(guard, times));
            all.add(workers, [](mutex &of) -> task<> { co_await of.with([] {}); }(guard));
        }
        all.wait();
    }
    slices found = slices_of(traced());
    const std::vector<slice> &sections = found[{mutexes_group, 0}];
    EXPECT_EQ(sections.size(), std::size_t{tasks * times + tasks});
    for (std::size_t i = 1; i < sections.size(); i++)
        EXPECT_LE(sections[i - 1].until_ns, sections[i].from_ns);
    std::size_t on_threads = 0;
    for (const auto &[where, all] : found) {
        if (where.first != threads_group)
            continue;
        std::vector<slice> around;
        for (const slice &one : all) {
            on_threads += one.name.starts_with("mutex");
            while (!around.empty() && around.back().until_ns <= one.from_ns)
                around.pop_back();
            EXPECT_TRUE(around.empty() || one.until_ns <= around.back().until_ns);
            around.push_back(one);
        }
    }
    EXPECT_GT(on_threads, 0u);
}

// Traces a chain of hand-overs to `work`, so many times; the sections of the mutex, in their order.
template <class Work>
std::vector<slice> sections_of_a_chain(int waiters, mutex &guard, Work work) {
    trace::start();
    {
        pool workers(3u);
        std::atomic<int> come = 0;
        gathering all;
        auto come_to_it = [&]() -> task<> {
            come++;
            co_await work();
        };
        auto lead = [&]() -> task<> {
            co_await guard.lock();
            for (int i = 0; i < waiters; i++)
                all.add(workers, come_to_it());
            while (come < waiters)
                co_await yield();
            for (int turn = 0; turn < 100; turn++)
                co_await yield(); // those that have come are in the list now, but for a few perhaps
            co_await guard.unlock();
        };
        sync_wait(workers, lead());
        all.wait();
    }
    return slices_of(traced())[{mutexes_group, 0}];
}

// Figure 5 of the paper: all sections of a chain on one thread under CES.
TEST(CoroTrace, ShowsThatAChainStaysOnAThread) {
    constexpr int waiters = 50;
    mutex guard;
    for (bool combines : {false, true}) {
        auto work = [&]() -> task<> {
            if (combines) {
                co_await guard.with([] {});
            } else {
                co_await guard.lock();
                co_await guard.unlock();
            }
        };
        std::vector<slice> sections = sections_of_a_chain(waiters, guard, work);
        ASSERT_EQ(sections.size(), std::size_t{waiters + 1});
        std::set<std::string> names;
        for (std::size_t i = 1; i < waiters / 2; i++)
            names.insert(sections[i].name);
        ASSERT_EQ(names.size(), 1u);
        EXPECT_TRUE(names.begin()->starts_with("worker "));
    }
}

TEST(CoroTrace, NamesTheThreadOfEachSection) {
    pool one(1u), other(1u);
    mutex guard;
    trace::start();
    for (pool *where : {&one, &other, &one})
        sync_wait(*where, lock_and_unlock(guard, 1));
    std::vector<slice> sections = slices_of(traced())[{mutexes_group, 0}];
    ASSERT_EQ(sections.size(), 3u);
    EXPECT_NE(sections[0].name, sections[1].name);
    EXPECT_EQ(sections[0].name, sections[2].name);
}

TEST(CoroTrace, BeginsAnewAndKeepsNothingWhenItIsOff) {
    mutex guard;
    trace::start();
    ASSERT_TRUE(guard.try_lock());
    guard.unlock_unsuspended();
    trace::start();
    EXPECT_TRUE(slices_of(traced()).empty());
    ASSERT_TRUE(guard.try_lock());
    guard.unlock_unsuspended();
    EXPECT_TRUE(slices_of(traced()).empty());
}

TEST(CoroTrace, SaysHowManyEventsWereLeftOut) {
    mutex guard;
    trace::start();
    for (std::size_t i = 0; i < trace::events_max; i++) { // two events each
        ASSERT_TRUE(guard.try_lock());
        guard.unlock_unsuspended();
    }
    json all = traced();
    bool said = false;
    for (const json &one : all.at("traceEvents"))
        said = said || one.dump().find("(65536 events left out)") != std::string::npos;
    EXPECT_TRUE(said);
    EXPECT_EQ((slices_of(all)[{mutexes_group, 0}].size()), trace::events_max / 2);
}

TEST(CoroTrace, CantBeWrittenToADirectory) {
    EXPECT_THROW(trace::write("/"), std::runtime_error);
}

} // namespace
