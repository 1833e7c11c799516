// SPDX-License-Identifier: MIT OR Apache-2.0
// What the kernel tells of single waits: begin, release and end of one, with the stacks of waiter and releaser.
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <memory>
#include <mutex>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <vector>

#include "monitor/bpf/futex_look.h"
#include "monitor/wait_watch.hpp"

namespace holdfast::test {
namespace {

std::unique_ptr<wait_watch> watch_or_skip(const wait_watch::plan &how = {}) {
    try {
        return std::make_unique<wait_watch>(how);
    } catch (const wait_watch_unavailable &unavailable) {
        std::printf("skipped: %s\n", unavailable.what());
        std::exit(77);
    }
}

struct seen_event {
    hf_wait_event event;
    std::uint32_t stack_bytes;
    bool stack_is_whole; // it begins where the registers say
};

std::vector<seen_event> read_all(const wait_watch &watch) {
    std::vector<seen_event> all;
    watch.read([&](const hf_wait_event &event, const hf_stack *stack) {
        all.push_back({event, stack ? stack->bytes : 0, stack && stack->from != 0 && stack->instruction != 0});
    });
    return all;
}

std::uint32_t self() {
    return static_cast<std::uint32_t>(gettid());
}

// A thread waits for a mutex that this one holds for a while, again and again until the kernel has told of a whole
// wait. The time limit of the test is the only one.
std::vector<seen_event> events_of_one_wait(const wait_watch &watch, std::uint64_t &address) {
    std::mutex mutex;
    std::atomic<bool> over = false;
    std::atomic<std::uint32_t> waiter_is = 0;
    address = reinterpret_cast<std::uint64_t>(mutex.native_handle());
    std::thread waiter([&] {
        waiter_is = self();
        while (!over)
            std::lock_guard guard(mutex);
    });
    std::vector<seen_event> found;
    while (found.empty()) {
        mutex.lock();
        usleep(2000);
        mutex.unlock();
        std::vector<seen_event> all = read_all(watch);
        for (const seen_event &end : all) {
            if (end.event.kind != HF_WAIT_ENDS || end.event.waiter != waiter_is || end.event.address != address)
                continue;
            std::vector<seen_event> of_it;
            for (const seen_event &each : all) {
                if (each.event.waiter == end.event.waiter && each.event.begun_ns == end.event.begun_ns)
                    of_it.push_back(each);
            }
            if (of_it.size() == 3)
                found = of_it;
        }
    }
    over = true;
    waiter.join();
    return found;
}

TEST(wait_watch, TellsOfAWaitFromBeginToEnd) {
    auto watch = watch_or_skip();
    ASSERT_TRUE(watch->follow(getpid()));
    std::uint64_t address = 0;
    auto [begin, release, end] = [&] {
        auto all = events_of_one_wait(*watch, address);
        return std::tuple(all[0], all[1], all[2]);
    }();
    EXPECT_EQ(begin.event.kind, HF_WAIT_BEGINS);
    EXPECT_EQ(release.event.kind, HF_WAIT_RELEASED);
    EXPECT_EQ(end.event.kind, HF_WAIT_ENDS);
    EXPECT_EQ(release.event.thread, self());
    EXPECT_EQ(begin.event.thread, begin.event.waiter);
    EXPECT_NE(begin.event.waiter, self());
    for (const seen_event &each : {begin, release, end}) {
        EXPECT_EQ(each.event.process, static_cast<std::uint32_t>(getpid()));
        EXPECT_EQ(each.event.address, address);
        EXPECT_EQ(each.event.look & HF_FUTEX_OF_LOCK, HF_FUTEX_IS_TWO);
        EXPECT_EQ(each.event.weight, 1u);
    }
    EXPECT_LT(begin.event.at_ns, release.event.at_ns);
    EXPECT_LE(release.event.at_ns, end.event.at_ns);
    for (const seen_event &each : {begin, release}) {
        EXPECT_TRUE(each.stack_is_whole);
        EXPECT_GE(each.stack_bytes, 512u);
    }
    EXPECT_EQ(watch->lost_total(), 0u);
}

TEST(wait_watch, TellsNothingOfOthersThanThoseThatAreFollowed) {
    auto watch = watch_or_skip();
    std::mutex mutex;
    for (int i = 0; i < 20; i++) {
        mutex.lock();
        std::thread waiter([&] { std::lock_guard guard(mutex); });
        usleep(2000);
        mutex.unlock();
        waiter.join();
    }
    EXPECT_TRUE(read_all(*watch).empty());
}

TEST(wait_watch, FollowsWhatIsForked) {
    auto watch = watch_or_skip();
    ASSERT_TRUE(watch->follow(getpid()));
    pid_t child = fork();
    if (child == 0) {
        std::mutex mutex;
        for (;;) {
            mutex.lock();
            std::thread waiter([&] { std::lock_guard guard(mutex); });
            usleep(2000);
            mutex.unlock();
            waiter.join();
        }
    }
    bool seen = false;
    while (!seen) {
        for (const seen_event &each : read_all(*watch))
            seen |= each.event.process == static_cast<std::uint32_t>(child);
        usleep(1000);
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

// A word that two threads hand to each other, each by a sleep.
class ball {
public:
    // Returns how often the calling thread slept.
    long play(std::uint32_t side, int times) {
        rusage before{}, after{};
        getrusage(RUSAGE_THREAD, &before);
        const std::atomic<bool> never = false;
        for (int i = 0; i < times; i++)
            hand_on(side, never);
        getrusage(RUSAGE_THREAD, &after);
        return after.ru_nvcsw - before.ru_nvcsw;
    }
    void play_until(const std::atomic<bool> &over, std::uint32_t side) {
        while (!over)
            hand_on(side, over);
        pass_from(side); // that the other one ends, too, if it sleeps
    }
    std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(&at_); }

private:
    void hand_on(std::uint32_t side, const std::atomic<bool> &over) {
        while (at_ != side && !over)
            syscall(SYS_futex, &at_, FUTEX_WAIT_PRIVATE, 1 - side, nullptr, nullptr, 0);
        pass_from(side);
    }
    void pass_from(std::uint32_t side) {
        at_ = 1 - side;
        syscall(SYS_futex, &at_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }

    std::atomic<std::uint32_t> at_ = 0;
};

struct sleeps_and_told {
    double slept, told;
    bool all_is_told; // else this process had no CPU for so long that there was no room for more events
};

// Two threads sleep for each other.
sleeps_and_told play_ball() {
    auto watch = watch_or_skip({.all_of_slot = 1});
    EXPECT_TRUE(watch->follow(getpid()));
    ball thrown;
    std::atomic<bool> over = false;
    std::atomic<long> slept = 0;
    std::thread one([&] { slept += thrown.play(0, 40000); });
    std::thread other([&] {
        slept += thrown.play(1, 40000);
        over = true;
    });
    double told = 0;
    bool ends = false;
    while (!ends) {
        ends = over;
        for (const seen_event &each : read_all(*watch))
            told += each.event.kind == HF_WAIT_BEGINS && each.event.address == thrown.address() ? each.event.weight : 0;
        usleep(1000);
    }
    one.join();
    other.join();
    return {static_cast<double>(slept), told, watch->lost_total() == 0};
}

// Shown able to fail: with THINNED_BY for a weight of 1.
TEST(wait_watch, WaitsThatAreChosenStandForAll) {
    constexpr double thinned_by = 64, enough = 10000;
    sleeps_and_told seen = play_ball();
    for (int tries = 1; tries < 10 && !(seen.all_is_told && seen.slept > enough); tries++)
        seen = play_ball();
    ASSERT_TRUE(seen.all_is_told);
    ASSERT_GT(seen.slept, enough) << "too few sleeps to tell by";
    double deviation = std::sqrt(thinned_by / seen.slept); // of a sum of chosen ones that stand for 64 each
    EXPECT_NEAR(seen.told / seen.slept, 1, 6 * deviation + 0.05) << seen.slept;
}

// Shown able to fail: without slots of words.
TEST(wait_watch, WaitsThatAreRareStandForThemselves) {
    auto watch = watch_or_skip({.all_of_slot = 0});
    ASSERT_TRUE(watch->follow(getpid()));
    std::uint32_t never = 0;
    constexpr int waits = 10;
    for (int i = 0; i < waits; i++) {
        usleep(110 * 1000); // more than a slot of words
        timespec shortly{.tv_sec = 0, .tv_nsec = 1000 * 1000};
        syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &shortly, nullptr, 0);
    }
    int told = 0;
    for (const seen_event &each : read_all(*watch)) {
        told += each.event.kind == HF_WAIT_BEGINS;
        EXPECT_EQ(each.event.weight, 1u);
    }
    EXPECT_EQ(told, waits);
}

// Each of them after a short one, which is not to take its place. Shown able to fail: without room for threads that
// wait seldom (share_of_seldom): some stood for 64, and together for 76 to 327 of 100.
TEST(wait_watch, LongWaitsStandForThemselvesBesideThreadsThatWaitOften) {
    auto watch = watch_or_skip({.all_of_slot = 1});
    ASSERT_TRUE(watch->follow(getpid()));
    constexpr int pairs = 8, waits = 100;
    std::atomic<bool> over = false;
    std::vector<ball> thrown(pairs);
    std::vector<std::thread> players;
    for (ball &each : thrown) {
        players.emplace_back([&] { each.play_until(over, 0); });
        players.emplace_back([&] { each.play_until(over, 1); });
    }
    std::uint32_t never = 0;
    double told = 0;
    auto wait_and_read = [&](long ns) {
        timespec limit{.tv_sec = 0, .tv_nsec = ns};
        syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &limit, nullptr, 0);
        for (const seen_event &each : read_all(*watch)) {
            if (each.event.kind == HF_WAIT_ENDS && each.event.address == reinterpret_cast<std::uint64_t>(&never) &&
                each.event.at_ns - each.event.begun_ns > 5'000'000) {
                told += each.event.weight;
                EXPECT_LE(each.event.weight, 8u);
            }
        }
    };
    for (int i = 0; i < waits; i++) {
        wait_and_read(200'000);
        wait_and_read(20'000'000);
    }
    over = true;
    for (std::thread &each : players)
        each.join();
    EXPECT_NEAR(told / waits, 1, 0.4); // a machine that is busy makes the others wait seldom, too
}

// Shown able to fail: without meet_sleepers.
TEST(wait_watch, TellsOfWaitsThatAreOlderThanItself) {
    std::mutex mutex;
    mutex.lock();
    std::atomic<std::uint32_t> waiter_is = 0;
    std::thread waiter([&] {
        waiter_is = self();
        std::lock_guard guard(mutex);
    });
    usleep(20'000); // it waits by now, or is met a little later
    auto watch = watch_or_skip();
    ASSERT_TRUE(watch->follow(getpid()));
    std::vector<seen_event> all;
    while (all.empty()) {
        watch->meet_sleepers(getpid());
        usleep(1000);
        all = read_all(*watch);
    }
    watch->meet_sleepers(getpid()); // is told once
    mutex.unlock();
    waiter.join();
    for (const seen_event &each : read_all(*watch)) {
        if (each.event.waiter == waiter_is) // this thread has waited for its end
            all.push_back(each);
    }
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].event.kind, HF_WAIT_BEGINS);
    EXPECT_TRUE(all[0].stack_is_whole && all[0].stack_bytes >= 512);
    EXPECT_EQ(all[1].event.kind, HF_WAIT_RELEASED);
    EXPECT_EQ(all[2].event.kind, HF_WAIT_ENDS);
    for (const seen_event &each : all) {
        EXPECT_EQ(each.event.waiter, waiter_is);
        EXPECT_EQ(each.event.address, reinterpret_cast<std::uint64_t>(mutex.native_handle()));
        EXPECT_EQ(each.event.begun_ns, all[0].event.begun_ns);
        EXPECT_EQ(each.event.look & HF_FUTEX_OF_LOCK, HF_FUTEX_IS_TWO);
    }
}

// Two wait; the first that gets the lock wakes the other. Shown able to fail: without back_ns.
TEST(wait_watch, AReleaseTellsSinceWhenItsThreadCanHaveHadTheLock) {
    auto watch = watch_or_skip();
    ASSERT_TRUE(watch->follow(getpid()));
    for (bool seen = false; !seen;) {
        std::mutex mutex;
        mutex.lock();
        auto wait_and_hold = [&] {
            std::lock_guard guard(mutex);
            usleep(2000);
        };
        std::thread one(wait_and_hold), other(wait_and_hold);
        usleep(20'000);
        mutex.unlock();
        one.join();
        other.join();
        std::uint64_t first_ns = 0;
        for (const seen_event &each : read_all(*watch)) {
            if (each.event.kind != HF_WAIT_RELEASED ||
                each.event.address != reinterpret_cast<std::uint64_t>(mutex.native_handle()))
                continue;
            if (each.event.thread == self()) {
                first_ns = each.event.at_ns;
                EXPECT_EQ(each.event.held_since_ns, 0u);
            } else if (first_ns != 0) {
                EXPECT_GE(each.event.held_since_ns, first_ns);
                EXPECT_LT(each.event.held_since_ns, each.event.at_ns);
                seen = true;
            }
        }
    }
}

TEST(wait_watch, KnowsNoProcessThatIsNotThere) {
    auto watch = watch_or_skip();
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(watch->follow(child));
}

} // namespace
} // namespace holdfast::test
