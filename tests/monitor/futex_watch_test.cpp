// SPDX-License-Identifier: MIT OR Apache-2.0
// What the kernel shows of sleeps in futexes. Shown able to fail: WAIT, and WAIT_BITSET, left out of sleeps_in_futex()
// (the test does not end); note_sleep() for threads that were preempted too; `for_lock` always true; the process's own
// sum (address 0) left out of count_end_of_sleep().
#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <memory>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/futex_watch.hpp"

namespace holdfast::test {
namespace {

std::unique_ptr<futex_watch> watch_or_skip() {
    try {
        return std::make_unique<futex_watch>();
    } catch (const futex_watch_unavailable &unavailable) {
        std::printf("skipped: %s\n", unavailable.what());
        std::exit(77);
    }
}

long futex(std::atomic<std::uint32_t> &word, int command, std::uint32_t value) {
    return syscall(SYS_futex, &word, command | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
}

// A thread that sleeps again and again while the word is `value`.
class sleeper {
public:
    explicit sleeper(std::uint32_t value, int command = FUTEX_WAIT)
        : word(value), thread([this, value, command] {
              while (!over)
                  futex(word, command, value);
          }) {}
    ~sleeper() {
        over = true;
        word = 0;
        wake();
        thread.join();
    }
    void wake() { futex(word, FUTEX_WAKE, 1); }
    std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(&word); }

    std::atomic<std::uint32_t> word;

private:
    std::atomic<bool> over = false;
    std::thread thread; // last: it uses the others
};

hf_futex_totals totals_of(const futex_watch &watch, std::uint64_t address) {
    for (const futex_waits &each : watch.read()) {
        if (each.key.pid == static_cast<std::uint32_t>(getpid()) && each.key.address == address)
            return each.totals;
    }
    return {};
}

// Wakes it until the kernel has seen it sleep so often. The time limit of the test is the only one.
hf_futex_totals wake_until_seen(const futex_watch &watch, sleeper &who, std::uint64_t sleeps) {
    for (;;) {
        hf_futex_totals found = totals_of(watch, who.address());
        if (found.sleeps >= sleeps)
            return found;
        who.wake();
        sched_yield();
    }
}

std::uint64_t sum_of_buckets(const hf_futex_totals &totals) {
    std::uint64_t sum = 0;
    for (std::uint32_t count : totals.bucket)
        sum += count;
    return sum;
}

TEST(futex_watch, SeesSleepsOfWhatLooksLikeALock) {
    for (int command : {FUTEX_WAIT, FUTEX_WAIT_BITSET}) {
        auto watch = watch_or_skip(); // a new one: both words lie at one address
        std::uint64_t address = 0;
        {
            sleeper lock(2, command);
            address = lock.address();
            wake_until_seen(*watch, lock, 3);
        }
        // Its thread has ended: while it ran, the kernel might have been between two of these.
        hf_futex_totals found = totals_of(*watch, address);
        EXPECT_GE(found.sleeps, 3u);
        EXPECT_EQ(found.lock_waits, found.sleeps);
        EXPECT_EQ(found.twos, found.sleeps);
        EXPECT_GT(found.lock_waited_ns, 0u);
        EXPECT_GT(found.longest_ns, 0u);
    }
}

// As musl's mutexes have it, and robust ones. Shown able to fail: with words that are 2 alone.
TEST(futex_watch, SeesSleepsForWhatHasAnOwner) {
    auto watch = watch_or_skip();
    std::uint64_t address = 0;
    {
        sleeper lock(0x80000010);
        address = lock.address();
        wake_until_seen(*watch, lock, 3);
    }
    hf_futex_totals found = totals_of(*watch, address); // of a thread that has ended, as above
    EXPECT_GE(found.sleeps, 3u);
    EXPECT_EQ(found.lock_waits, found.sleeps);
    EXPECT_EQ(found.twos, 0u);
}

TEST(futex_watch, CountsOtherSleepsApart) {
    auto watch = watch_or_skip();
    sleeper condition(7);
    hf_futex_totals found = wake_until_seen(*watch, condition, 3);
    EXPECT_EQ(found.lock_waits, 0u);
    EXPECT_EQ(found.lock_waited_ns, 0u);
    EXPECT_EQ(sum_of_buckets(found), 0u);
}

// "Somebody sleeps here", and no owner.
TEST(futex_watch, AHighestBitAloneIsNoLock) {
    for (std::uint32_t value : {0x80000000U, 0xffffffffU}) {
        auto watch = watch_or_skip();
        sleeper other(value);
        EXPECT_EQ(wake_until_seen(*watch, other, 3).lock_waits, 0u);
    }
}

TEST(futex_watch, SumsUpAProcess) {
    auto watch = watch_or_skip();
    {
        sleeper one(2), other(7);
        wake_until_seen(*watch, one, 2);
        wake_until_seen(*watch, other, 2);
    }
    // All have ended: nothing changes any more.
    hf_futex_totals all = totals_of(*watch, 0);
    EXPECT_GE(all.sleeps, 4u);
    EXPECT_GE(all.lock_waits, 2u);
    EXPECT_LT(all.lock_waits, all.sleeps);
    EXPECT_EQ(sum_of_buckets(all), all.lock_waits);
}

// A thread of its own spins in a call that does not sleep: being switched out there is no sleep.
TEST(futex_watch, CallsThatDoNotSleepAreNotCounted) {
    auto watch = watch_or_skip();
    std::atomic<std::uint32_t> word = 1;
    for (int i = 0; i < 20000; i++)
        futex(word, FUTEX_WAIT, 2); // EAGAIN
    EXPECT_EQ(totals_of(*watch, reinterpret_cast<std::uint64_t>(&word)).sleeps, 0u);
}

std::uint64_t since_ns(const futex_watch &watch, std::uint64_t address) {
    for (const hf_futex_sleeper &each : watch.sleepers()) {
        if (each.key.pid == static_cast<std::uint32_t>(getpid()) && each.key.address == address)
            return each.since_ns;
    }
    return 0;
}

// Shown able to fail: without mark_old_sleep (the test does not end).
TEST(futex_watch, FindsSleepsThatGoOn) {
    std::uint64_t begun_ns = hf_monotonic_ns();
    auto old = std::make_unique<sleeper>(2);
    usleep(20'000); // it sleeps by now, or is young, too
    auto watch = watch_or_skip();
    auto young = std::make_unique<sleeper>(2);
    sleeper condition(7);
    for (const auto *each : {&old, &young}) {
        std::uint64_t since = 0;
        while (since == 0)
            since = since_ns(*watch, (*each)->address());
        EXPECT_GE(since, begun_ns);
        EXPECT_LE(since, hf_monotonic_ns());
        usleep(1000);
        EXPECT_EQ(since_ns(*watch, (*each)->address()), since);
    }
    EXPECT_EQ(since_ns(*watch, condition.address()), 0u);
    std::uint64_t addresses[] = {old->address(), young->address()};
    old.reset();
    young.reset();
    for (std::uint64_t each : addresses) {
        EXPECT_EQ(since_ns(*watch, each), 0u);
        EXPECT_GT(totals_of(*watch, each).lock_waited_ns, 0u); // from when it was found
    }
}

TEST(futex_watch, ForgetsWhatItIsToldTo) {
    auto watch = watch_or_skip();
    std::uint64_t address = 0;
    {
        sleeper lock(2);
        address = lock.address();
        wake_until_seen(*watch, lock, 1);
    }
    for (const futex_waits &each : watch->read()) {
        if (each.key.pid == static_cast<std::uint32_t>(getpid()))
            watch->forget(each.key);
    }
    EXPECT_EQ(totals_of(*watch, address).sleeps, 0u);
    EXPECT_EQ(totals_of(*watch, 0).sleeps, 0u);
}

} // namespace
} // namespace holdfast::test
