// SPDX-License-Identifier: MIT OR Apache-2.0
// Turns: whose is over, and that it is worth it. Shown able to fail: with no look at the time between two looks
// (BeginsAnewForOneThatWorks), with its work not asked for (BeginsAnewForOneThatHasSignalled), with hf_yield left out
// (PollersUnderALockGiveWay), with a yield whatever is held (ThatHoldsALockGoesOn), and with an end of which nothing is
// kept, or which is kept for good (AreKnownToEnd); with the monitor's word before the number of threads
// (ThreadsOfTheOwnProcessComeFirst); with a look that ends what is made up for, with other processes treated as own
// threads, with a time ahead that is believed whatever it is, and with one that is not bounded (the four cases after
// IsLongAfterALongYieldAlone).
#include <future>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <time.h>
#include <vector>

#include "base/cpu_count.h"
#include "holdfast/flexguard.h"
#include "lock/wait/turn.h"

namespace {

constexpr std::uint64_t us = 1000;

TEST(turn, IsOverAfterItsTime) {
    hf_turn own{};
    std::uint64_t now_ns = 7 * us;
    hf_turn_begin(&own, now_ns);
    EXPECT_FALSE(hf_turn_ends(&own, now_ns + (HF_TURN_US - 1) * us));
    EXPECT_TRUE(hf_turn_ends(&own, now_ns + HF_TURN_US * us));
    EXPECT_TRUE(hf_turn_ends(&own, now_ns + (HF_TURN_US + 1) * us)); // until another begins
}

TEST(turn, BeginsAnewForOneThatWorks) {
    constexpr std::uint64_t apart_ns = (HF_TURN_US + 1) * us;
    hf_turn own{};
    for (std::uint64_t look = 1; look < 10; look++)
        EXPECT_FALSE(hf_turn_ends(&own, look * apart_ns)) << look;
}

TEST(turn, BeginsAnewForOneThatHasSignalled) {
    hf_thread_record *self = hf_self();
    std::uint64_t now_ns = hf_monotonic_ns();
    hf_turn_begin(&self->turn, now_ns - (HF_TURN_US + 1) * us);
    hf_thread_works(self);
    hf_turn before = self->turn;
    hf_turn_look(self);
    EXPECT_NE(self->turn.began_us, before.began_us);
    EXPECT_FALSE(hf_load_relaxed(&self->works)) << "until it signals again";
}

TEST(turn, IsLongAfterALongYieldAlone) {
    hf_turn own{};
    constexpr std::uint64_t since_ns = 5000 * us, brief_ns = since_ns + 1000 * us, long_ns = since_ns + 3000 * us;
    hf_turn_begin_after_yield(&own, since_ns, brief_ns);
    EXPECT_TRUE(hf_turn_is_over(&own, brief_ns + HF_TURN_US * us));
    hf_turn_begin_after_yield(&own, since_ns, long_ns);
    EXPECT_FALSE(hf_turn_is_over(&own, long_ns + 3000 * us));
    EXPECT_FALSE(hf_turn_has_begun(&own, long_ns + 2999 * us)) << "no yield until then";
    EXPECT_TRUE(hf_turn_has_begun(&own, long_ns + 3000 * us));
    EXPECT_TRUE(hf_turn_is_over(&own, long_ns + (3000 + HF_TURN_US) * us));
}

TEST(turn, IsAsLongAsItWasToBeAlthoughTheThreadWasPreempted) {
    hf_turn own{};
    constexpr std::uint64_t since_ns = 5000 * us, yielded_ns = since_ns + 3000 * us;
    hf_turn_begin_after_yield(&own, since_ns, yielded_ns);
    EXPECT_FALSE(hf_turn_ends(&own, yielded_ns + 2000 * us));
    EXPECT_FALSE(hf_turn_has_begun(&own, yielded_ns + 2999 * us));
    EXPECT_FALSE(hf_turn_ends(&own, yielded_ns + (3000 + HF_TURN_US + 1) * us)) << "that look begins another";
}

TEST(turn, HasBegunWhereNoneEverHas) {
    constexpr std::uint64_t half_ns = (std::uint64_t{1} << 31) * us;
    for (std::uint64_t up_ns : {half_ns / 2, half_ns + 5 * us, 2 * half_ns - 2'000'000 * us, 3 * half_ns}) {
        hf_turn none{};
        EXPECT_TRUE(hf_turn_has_begun(&none, up_ns)) << up_ns;
        EXPECT_FALSE(hf_turn_ends(&none, up_ns)) << up_ns;
        EXPECT_TRUE(hf_turn_ends(&none, up_ns + HF_TURN_US * us)) << up_ns;
    }
}

TEST(turn, DoesNotMakeUpForAThreadThatWasStopped) {
    hf_turn own{};
    constexpr std::uint64_t since_ns = 5000 * us, now_ns = since_ns + 3600'000'000 * us;
    hf_turn_begin_after_yield(&own, since_ns, now_ns);
    EXPECT_FALSE(hf_turn_has_begun(&own, now_ns + (HF_TURN_MAKES_UP_US_MAX - 1) * us));
    EXPECT_TRUE(hf_turn_has_begun(&own, now_ns + HF_TURN_MAKES_UP_US_MAX * us));
}

TEST(turn, IsLongestAfterAYieldToAnotherProcess) {
    hf_hint_page page{};
    page.monitor_state = HF_MONITOR_ALIVE;
    constexpr std::uint64_t since_ns = 5000 * us, brief_ns = since_ns + 1000 * us, long_ns = since_ns + 3000 * us;
    for (hf_hint_cpu &cpu : page.cpu) {
        cpu.runnable = 2;
        cpu.shared_ns = since_ns;
    }
    hf_hint_listen_to(&page);
    hf_turn own{};
    hf_turn_begin_after_yield(&own, since_ns, long_ns);
    EXPECT_FALSE(hf_turn_has_begun(&own, long_ns + HF_TURN_BESIDE_FOREIGN * 3000 * us - us));
    EXPECT_TRUE(hf_turn_has_begun(&own, long_ns + HF_TURN_BESIDE_FOREIGN * 3000 * us));
    hf_turn_begin_after_yield(&own, since_ns, brief_ns);
    EXPECT_TRUE(hf_turn_has_begun(&own, brief_ns)) << "it gives the CPU back";
    hf_hint_listen_to(nullptr);
}

TEST(turn, GoesOnWhenItsTimeStartsAgain) {
    constexpr std::uint64_t wraps_ns = (std::uint64_t{1} << 32) * us;
    hf_turn own{};
    hf_turn_begin(&own, wraps_ns - us);
    EXPECT_FALSE(hf_turn_ends(&own, wraps_ns + us));
    EXPECT_TRUE(hf_turn_ends(&own, wraps_ns + HF_TURN_US * us));
}

TEST(turn, ThatHoldsALockGoesOn) {
    hf_thread_record *self = hf_self();
    hf_turn_begin(&self->turn, 0);
    hf_critical_enter(self);
    hf_turn before = self->turn;
    hf_turn_look(self);
    EXPECT_EQ(self->turn.looked_us, before.looked_us);
    EXPECT_LT(hf_counters(self)->next_look, hf_counters(self)->acquisitions + HF_LOOKS_APART);
    hf_critical_leave(self);
}

// As many threads as the process has CPUs, beside the test's own.
class crowd {
public:
    crowd() {
        for (unsigned i = 0; i < hf_cpus_usable(); i++) {
            std::promise<void> has_record;
            threads_.emplace_back([&has_record, is_over = is_over_] {
                hf_self();
                has_record.set_value();
                is_over.wait();
            });
            has_record.get_future().wait();
        }
    }
    ~crowd() {
        over_.set_value();
        for (std::thread &thread : threads_)
            thread.join();
    }
    crowd(const crowd &) = delete;
    crowd &operator=(const crowd &) = delete;

private:
    std::promise<void> over_;
    std::shared_future<void> is_over_ = over_.get_future().share();
    std::vector<std::thread> threads_;
};

TEST(turn, ThreadsOfTheOwnProcessComeFirst) {
    static hf_hint_page page;
    page.monitor_state = HF_MONITOR_ALIVE;
    std::uint64_t now_ns = hf_monotonic_ns();
    for (hf_hint_cpu &cpu : page.cpu) {
        cpu.runnable = 2;
        cpu.shared_ns = now_ns;
    }
    hf_hint_listen_to(&page);
    EXPECT_EQ(hf_cpu_wanted_by(now_ns), HF_CPU_FOREIGN);
    {
        crowd others;
        EXPECT_EQ(hf_cpu_wanted_by(now_ns), HF_CPU_OWN);
    }
    hf_hint_listen_to(nullptr);
    EXPECT_EQ(hf_cpu_wanted_by(now_ns), HF_CPU_UNCONTENDED);
}

TEST(turn, AreKnownToEnd) {
    crowd others;
    hf_thread_record *self = hf_self();
    // A turn does not end, but begins anew, where the thread was away for as long before it looks.
    bool ends = false;
    for (int attempt = 0; attempt < 1000 && !ends; attempt++) {
        std::uint64_t now_ns = hf_monotonic_ns();
        hf_turn_begin(&self->turn, now_ns);
        hf_store_relaxed(&self->turn.began_us, hf_turn_time(now_ns - (HF_TURN_US + 1) * us));
        hf_turn_look(self);
        ends = hf_turns_end(now_ns);
    }
    EXPECT_TRUE(ends);
    EXPECT_FALSE(hf_turns_end(hf_monotonic_ns() + HF_RATE_WINDOW_NS));
}

double ms_by(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

// CPU time of two threads that wait for each other by polling under a lock. Negative: others had the CPU meanwhile.
double exchanges_take(int exchanges) {
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    int number = 0;
    auto poll = [&](int parity) {
        for (bool over = false; !over;) {
            hf_flexguard_lock(&lock);
            over = number >= exchanges;
            number += !over && number % 2 == parity;
            hf_flexguard_unlock(&lock);
        }
    };
    double began_ms = ms_by(CLOCK_MONOTONIC), began_cpu_ms = ms_by(CLOCK_PROCESS_CPUTIME_ID);
    std::thread odd(poll, 1), even(poll, 0);
    odd.join();
    even.join();
    double took_ms = ms_by(CLOCK_MONOTONIC) - began_ms, cpu_ms = ms_by(CLOCK_PROCESS_CPUTIME_ID) - began_cpu_ms;
    return took_ms < 1.2 * cpu_ms + 1 ? cpu_ms : -1;
}

// That nobody else wants. Under emulation a thread that does nothing else looks as if it worked.
double us_of_a_lock() {
    hf_flexguard_t lock = HF_FLEXGUARD_INIT;
    constexpr int locks = 100000;
    double began_ms = ms_by(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < locks; i++) {
        hf_flexguard_lock(&lock);
        hf_flexguard_unlock(&lock);
    }
    return 1e3 * (ms_by(CLOCK_PROCESS_CPUTIME_ID) - began_ms) / locks;
}

// Without yields each exchange takes one of the scheduler's slices, at least 2 ms. Beside other processes turns are as
// long as yields, so nothing is to be seen then.
TEST(turn, PollersUnderALockGiveWay) {
    if (us_of_a_lock() * double{HF_LOOKS_APART} > double{HF_TURN_US} / 2)
        GTEST_SKIP() << "a lock takes too long here";
    cpu_set_t all, one;
    pthread_getaffinity_np(pthread_self(), sizeof(all), &all);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    constexpr int exchanges = 12, attempts = 20;
    constexpr double bound_ms = 0.75 * exchanges;
    // The least of some: a host that takes the CPU away may be counted as the two threads' own time, and of what others
    // have there is a little in each.
    double least_ms = -1;
    for (int i = 0; i < attempts && (least_ms < 0 || least_ms >= bound_ms); i++) {
        double took_ms = exchanges_take(exchanges);
        if (took_ms >= 0 && (least_ms < 0 || took_ms < least_ms))
            least_ms = took_ms;
    }
    pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
    if (least_ms < 0)
        GTEST_SKIP() << "other processes have the CPU";
    EXPECT_LT(least_ms, bound_ms);
}

} // namespace
