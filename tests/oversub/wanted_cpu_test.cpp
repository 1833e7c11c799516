// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that the oversubscription scheduler has blocked virtually are runnable for the kernel, and the Preemption
// Monitor knows that they want no CPU; and that threads which wait for their turn do.
//
// Shown able to fail: the first and the last without the monitor's part "virtual" (HOLDFAST_REFUSED_PARTS=virtual),
// as it was before.
#include <atomic>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "base/thread_cpus.hpp"
#include "monitor/followed_child.hpp"
#include "oversub/scheduler.hpp"
#include "park/park_call.h"
#include "park/yield.h"

namespace holdfast::test {
namespace {

constexpr int cpu = 0;
constexpr unsigned waiters = 8;

std::unique_ptr<scheduler> scheduler_or_skip() {
    std::string why = why_sched_ext_is_of_no_use();
    try {
        if (why.empty())
            return std::make_unique<scheduler>(scheduler::reach::asking_threads, scheduler::spinners::run_on,
                                               scheduler::holders::are_as_others);
    } catch (const scheduler_unavailable &unavailable) {
        why = unavailable.what();
    }
    std::printf("SKIPPED: %s\n", why.c_str());
    std::fflush(stdout);
    _exit(77);
}

// What a child tells.
struct told {
    std::atomic<unsigned> waits;
};

class wanted_cpu : public testing::Test {
protected:
    wanted_cpu() {
        void *memory = mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        child = new (memory) told{};
    }
    ~wanted_cpu() override { munmap(child, sizeof(*child)); }

    std::uint32_t runnable() const { return hf_load_relaxed(&watcher->page().cpu[cpu].runnable); }

    // A thread of the child: is blocked virtually again and again, for as long as a wait may be.
    [[noreturn]] void wait_forever() const {
        static std::uint32_t word = 0;
        constexpr std::uint64_t any_kind = 0xffffffffull << 32;
        for (;;) {
            hf_yield_with(reinterpret_cast<std::uintptr_t>(&word), any_kind, HF_PARK_MAGIC, 0);
            child->waits++;
        }
    }

    std::unique_ptr<monitor> watcher = monitor_or_skip();
    std::unique_ptr<scheduler> one = scheduler_or_skip();
    told *child;
};

TEST_F(wanted_cpu, ABlockedThreadWantsNone) {
    followed_child waiting(*watcher, [&] {
        stay_on({cpu});
        ask_for_scheduler(0);
        std::vector<std::thread> all;
        for (unsigned i = 0; i < waiters; i++)
            all.emplace_back([&] { wait_forever(); });
        busy_forever();
    });
    EXPECT_TRUE(comes_true([&] { return child->waits > 3 * waiters; }));
    EXPECT_GT(one->totals().blocked, waiters);
    EXPECT_TRUE(comes_true([&] { return runnable() == 1; })) << runnable() << " want the CPU";
}

TEST_F(wanted_cpu, AThreadThatWaitsForItsTurnDoes) {
    followed_child busy(*watcher, [] {
        stay_on({cpu});
        ask_for_scheduler(0);
        std::thread second(busy_forever), third(busy_forever);
        busy_forever();
    });
    EXPECT_TRUE(comes_true([&] { return runnable() == 3; })) << runnable() << " want the CPU";
}

// It leaves the CPU of its own accord, though the kernel takes it for runnable.
TEST_F(wanted_cpu, ABlockedHolderIsNotPreempted) {
    followed_child waiting(*watcher, [&] {
        stay_on({cpu});
        ask_for_scheduler(0);
        std::thread other(busy_forever);
        hf_critical_enter(hf_self());
        wait_forever();
    });
    EXPECT_TRUE(comes_true([&] { return child->waits > 20; }));
    const hf_hint_scope &all = watcher->page().scope[HF_SCOPE_MACHINE];
    EXPECT_GT(hf_load_relaxed(&all.sleeps_total), 10u);
    EXPECT_LT(hf_load_relaxed(&all.preemptions_total), 10u);
}

} // namespace
} // namespace holdfast::test
