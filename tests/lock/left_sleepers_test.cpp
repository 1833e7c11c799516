// SPDX-License-Identifier: MIT OR Apache-2.0
// A FlexGuard mutex with a sleeper and a waiter that polls: an unlock leaves the lock to the latter and wakes nobody
// (park/heirs.h), and in the end the sleeper has it, too.
//
// A waiter polls for less than a millisecond, and an unlock that comes later wakes: so the test tries until it has met
// one that polls.
//
// Shown able to fail: an unlock that marks nobody (no try succeeds); an heir that takes the lock as HELD (heir.H1: the
// sleeper sleeps on, and the test with it).
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "holdfast/flexguard.h"

#include "base/clock.h"
#include "base/cpu_limit.h"
#include "base/thread_cpus.hpp"
#include "hint/hint.h"
#include "park/word_lock.h"

namespace {

hf_flexguard_t lock;
const uintptr_t heir = reinterpret_cast<uintptr_t>(&lock.word);

// Says that spinning pays.
class spinning_pays {
public:
    spinning_pays() {
        static hf_hint_page page{}; // waiters may remember it
        page.version = HF_HINT_VERSION;
        page.monitor_state = HF_MONITOR_ALIVE;
        page.heartbeat_ns = hf_monotonic_ns() + 3'600'000'000'000; // is not late, however long this machine waits
        hf_hint_listen_to(&page);
    }
    ~spinning_pays() { hf_hint_listen_to(nullptr); }
};

uintptr_t state() {
    return hf_load_relaxed(&hf_heir_of(&lock.word)->state);
}

uint32_t word() {
    return hf_load_relaxed(&lock.word);
}

// True: it was the sleepers' heir, and had the lock while they slept on.
bool sleepers_are_left_to_one_that_polls() {
    std::atomic<bool> slept = false, left = false;
    hf_flexguard_lock(&lock);
    std::thread sleeper([&] { // nobody says that spinning pays
        hf_flexguard_lock(&lock);
        slept = true;
        hf_flexguard_unlock(&lock);
    });
    while (hf_sleepers_on(&lock.word) == 0 || word() != HF_WORD_HELD_WITH_SLEEPERS)
        std::this_thread::yield();
    spinning_pays page;
    std::thread poller([&] {
        hf_flexguard_lock(&lock);
        left = state() == (heir | HF_HEIR_TOOK) && word() == HF_WORD_HELD_WITH_SLEEPERS && !slept;
        hf_flexguard_unlock(&lock);
    });
    while (state() != heir && hf_sleepers_on(&lock.word) < 2)
        continue;
    hf_store_relaxed(&hf_heir_of(&lock.word)->woken_ns, hf_monotonic_ns()); // a moment ago
    hf_flexguard_unlock(&lock);
    poller.join();
    sleeper.join();
    EXPECT_EQ(word(), static_cast<uint32_t>(HF_WORD_FREE));
    return left;
}

TEST(LeftSleepers, AreThoseOfAWaiterThatPolls) {
    if (holdfast::usable_cpus().size() < 2)
        GTEST_SKIP() << "needs two CPUs";  // whoever polls has one, and the owner's look at it the other
    hf_cpu_limit_millis = HF_NO_CPU_LIMIT; // the machine's may be less than the threads want
    while (!sleepers_are_left_to_one_that_polls())
        continue;
}

} // namespace
