// SPDX-License-Identifier: MIT OR Apache-2.0
// Programs that switch all the time inside their critical sections are left alone for a while, and only they.
//
// Shown able to fail: when a storm never ends, or never begins, and when at_switch does not ask is_left_alone, the
// first two; without end_storms in `retire`, or with links that a child keeps (followed_child.hpp), EndsWithTheMonitor;
// when every departure counts as one in company (on few CPUs), IsOneThread; when one sample makes a storm,
// IsSomeThatSleepInside; without the monitor's part `storms`, BeginsAtItsRealThreshold.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <sched.h>
#include <sys/mman.h>
#include <thread>

#include "base/thread_cpus.hpp"
#include "hint/switch_storm.h"
#include "holdfast/flexguard.h"
#include "monitor/followed_child.hpp"

namespace holdfast::test {
namespace {

void yield_inside(hf_flexguard_t &lock) {
    hf_flexguard_lock(&lock);
    sched_yield();
    hf_flexguard_unlock(&lock);
}

class switch_storm : public testing::Test {
protected:
    // A critical departure in 20 us on each CPU is more than a busy or an emulated machine can do.
    std::unique_ptr<monitor> watcher = monitor_or_skip(monitor::sight::slow_storms);
    std::atomic<bool> *calm = static_cast<std::atomic<bool> *>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));

    // Threads that yield while they hold a lock each, until `calm`. Then one holds its lock and sleeps, and again.
    void storm_until_calm() const {
        static hf_flexguard_t locks[256];
        unsigned threads = std::min(256u, 4 * std::max(1u, std::thread::hardware_concurrency()));
        auto storm = [this](hf_flexguard_t &lock) {
            while (!*calm)
                yield_inside(lock);
        };
        for (unsigned i = 1; i < threads; i++)
            std::thread(storm, std::ref(locks[i])).detach();
        storm(locks[0]);
        for (;;) {
            hf_flexguard_lock(&locks[0]);
            usleep(100 * 1000);
            hf_flexguard_unlock(&locks[0]);
        }
    }

    bool is_left_alone() const {
        return hf_load_relaxed(&watcher->page().group[HF_GROUP_OF_ALL].left_alone_until_ns) != 0;
    }

    bool is_left_alone_soon() const {
        return comes_true([this] { return is_left_alone(); });
    }
};

TEST_F(switch_storm, IsNotCounted) {
    followed_child storm(*watcher, [this] { storm_until_calm(); });
    ASSERT_TRUE(is_left_alone_soon());
    EXPECT_GT(watcher->page().switch_storms_total, 0u);
    // Most of the time: it is looked at for some hundredths of each second. A slow machine finds a storm later.
    EXPECT_TRUE(comes_true([this] {
        int nobody = 0;
        for (int look = 0; look < 500; look++) {
            nobody += hf_load_relaxed(&watcher->page().scope[HF_SCOPE_MACHINE].preempted_critical_sections) == 0;
            usleep(1000);
        }
        return nobody > 250;
    }));
    storm.end();
    EXPECT_EQ(count_becomes(*watcher, 0), 0u);
}

TEST_F(switch_storm, IsFollowedAgainAfterwards) {
    followed_child storm(*watcher, [this] { storm_until_calm(); });
    ASSERT_TRUE(is_left_alone_soon());
    *calm = true;
    EXPECT_TRUE(comes_true([this] { return !is_left_alone(); }));
    EXPECT_EQ(count_becomes(*watcher, 1), 1u);
}

TEST_F(switch_storm, EndsWithTheMonitor) {
    followed_child storm(*watcher, [this] { storm_until_calm(); });
    ASSERT_TRUE(is_left_alone_soon());
    auto *page = static_cast<const hf_hint_page *>(
        mmap(nullptr, sizeof(hf_hint_page), PROT_READ, MAP_SHARED, watcher->page_fd(), 0));
    ASSERT_NE(page, MAP_FAILED);
    watcher.reset();
    auto departures = [page] {
        return std::accumulate(
            std::begin(page->cpu), std::end(page->cpu), std::uint64_t{0},
            [](std::uint64_t sum, const hf_hint_cpu &cpu) { return sum + hf_load_relaxed(&cpu.critical_departures); });
    };
    std::uint64_t noted = departures();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(departures(), noted) << "a program of the monitor's still runs";
    EXPECT_EQ(page->group[HF_GROUP_OF_ALL].left_alone_until_ns, 0u);
    munmap(const_cast<hf_hint_page *>(page), sizeof(hf_hint_page));
}

// At the threshold that users have, which the tests above divide by forty. A machine reaches it when nothing else runs
// on it: so these threads are real-time ones, each kept on a CPU with three others. Where that is still too few (an
// emulated machine), no test finds a storm, nor would users: the case says how many departures there were.
TEST_F(switch_storm, BeginsAtItsRealThreshold) {
    constexpr double critical_departures_per_s = 1e9 / double{HF_STORM_PERIOD_NS};
    unsigned cpus = std::max(1u, std::thread::hardware_concurrency());
    watcher.reset();
    watcher = monitor_or_skip();
    sched_param ahead{.sched_priority = 2};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &ahead) != 0)
        GTEST_SKIP() << "this machine refuses real-time threads, and without them others' work decides";
    followed_child storm(*watcher, [this, cpus] {
        sched_param behind{.sched_priority = 1};
        sched_setscheduler(0, SCHED_FIFO, &behind);
        for (unsigned i = 0; i < 4 * cpus; i++) {
            std::thread([this, i, cpus] {
                hf_flexguard_t own{};
                stay_on({static_cast<int>(i % cpus)});
                while (!*calm)
                    yield_inside(own);
            }).detach();
        }
        for (;;)
            pause();
    });
    const std::uint64_t *departures = &watcher->page().scope[HF_SCOPE_MACHINE].preemptions_total;
    // Beats of the heart, each of which is looked at by itself.
    double most_per_s = 0;
    for (int beat = 0; beat < 40 && !is_left_alone(); beat++) {
        std::uint64_t from_ns = hf_monotonic_ns(), from = hf_load_relaxed(departures);
        usleep(HF_HEARTBEAT_NS / 1000);
        double seconds = static_cast<double>(hf_monotonic_ns() - from_ns) / 1e9;
        most_per_s = std::max(most_per_s, static_cast<double>(hf_load_relaxed(departures) - from) / seconds / cpus);
    }
    bool began = is_left_alone() || watcher->page().switch_storms_total > 0;
    *calm = true;
    storm.end();
    sched_param plain{};
    EXPECT_EQ(sched_setscheduler(0, SCHED_OTHER, &plain), 0);
    // Departures are counted in two beats of which the test saw parts: only far more of them make a storm certain.
    if (!began && most_per_s < 2 * critical_departures_per_s)
        GTEST_SKIP() << "this machine can't: " << static_cast<long>(most_per_s)
                     << " critical departures a second of a CPU; "
                     << "a storm has " << static_cast<long>(critical_departures_per_s);
    EXPECT_TRUE(began) << most_per_s << " a second of each CPU";
    EXPECT_EQ(count_becomes(*watcher, 0), 0u);
}

class no_storm : public switch_storm {
protected:
    void SetUp() override {
        watcher.reset();
        watcher = monitor_or_skip();
    }
};

TEST_F(no_storm, IsOneThread) {
    // They give each other the CPU, all the time: one is outside then, and the other one alone in the count.
    followed_child outside(*watcher, [] {
        stay_on({0});
        for (;;)
            sched_yield();
    });
    followed_child inside(*watcher, [] {
        stay_on({0});
        static hf_flexguard_t lock;
        for (;;)
            yield_inside(lock);
    });
    const std::uint64_t *preemptions = &watcher->page().scope[HF_SCOPE_MACHINE].preemptions_total;
    EXPECT_TRUE(comes_true([preemptions] { return hf_load_relaxed(preemptions) > 0; }));
    usleep(500 * 1000);
    EXPECT_EQ(watcher->page().switch_storms_total, 0u);
}

TEST_F(no_storm, IsSomeThatSleepInside) {
    followed_child sleepers(*watcher, [] {
        static hf_flexguard_t locks[2];
        auto sleep_inside = [](hf_flexguard_t &lock) {
            for (;;) {
                hf_flexguard_lock(&lock);
                usleep(50);
                hf_flexguard_unlock(&lock);
            }
        };
        std::thread(sleep_inside, std::ref(locks[0])).detach();
        sleep_inside(locks[1]);
    });
    const std::uint64_t *sleeps = &watcher->page().scope[HF_SCOPE_MACHINE].sleeps_total;
    EXPECT_TRUE(comes_true([sleeps] { return hf_load_relaxed(sleeps) >= 500; }));
    EXPECT_EQ(watcher->page().switch_storms_total, 0u);
}

} // namespace
} // namespace holdfast::test
