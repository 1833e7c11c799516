// SPDX-License-Identifier: MIT OR Apache-2.0
// On which CPUs do other processes want to run, too? The page says when a process last got a CPU from one of them.
//
// Shown able to fail, each by the test named: the time never noted (IsSharedWithAnotherProcess); noted at each switch
// (ItsOwnThreadsAreNoStrangers); noted whatever the thread that had the CPU did next (ASleepingThreadWantsItNoMore).
#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/thread_cpus.hpp"
#include "monitor/followed_child.hpp"

namespace holdfast::test {
namespace {

constexpr int cpu = 0;

// Real-time priority for this thread and those that it makes, so that none of the machine's other processes comes
// between them. Where that is not allowed, they may.
void go_before_others(int priority) {
    sched_param chosen{};
    chosen.sched_priority = priority;
    sched_setscheduler(0, SCHED_RR, &chosen);
}

class shared_cpu : public testing::Test {
protected:
    ~shared_cpu() override {
        sched_param none{};
        sched_setscheduler(0, SCHED_OTHER, &none);
    }

    // Was the CPU got from another process in the time to come?
    bool is_shared_for(int ms) const {
        std::uint64_t since_ns = hf_monotonic_ns();
        for (int waited_ms = 0; waited_ms < ms; waited_ms++) {
            if (hf_load_relaxed(&watcher->page().cpu[cpu].shared_ns) > since_ns)
                return true;
            usleep(1000);
        }
        return false;
    }

    std::unique_ptr<monitor> watcher = monitor_or_skip();
};

// A process that nobody follows.
class stranger {
public:
    explicit stranger(const std::function<void()> &body) : pid_(fork()) {
        if (pid_ != 0)
            return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stay_on({cpu});
        body();
        _exit(0);
    }
    ~stranger() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    stranger(const stranger &) = delete;
    stranger &operator=(const stranger &) = delete;

private:
    pid_t pid_;
};

// Each turn ends with a switch. Left to the scheduler, a turn at real-time priority lasts longer than we look.
[[noreturn]] void take_turns_forever() {
    for (;;)
        sched_yield();
}

TEST_F(shared_cpu, IsSharedWithAnotherProcess) {
    followed_child child(*watcher, [] {
        stay_on({cpu});
        busy_forever();
    });
    stranger busy(busy_forever);
    EXPECT_TRUE(is_shared_for(patience_ms));
}

// Other processes of the machine may want this CPU now and then, and get a little of it: there is a time in which none
// does.
TEST_F(shared_cpu, ItsOwnThreadsAreNoStrangers) {
    go_before_others(2); // we look on, also from that CPU
    followed_child child(*watcher, [] {
        stay_on({cpu});
        go_before_others(1);
        std::thread second(take_turns_forever);
        take_turns_forever();
    });
    bool always = true;
    for (int i = 0; always && i < 100; i++)
        always = is_shared_for(50);
    EXPECT_FALSE(always);
}

TEST_F(shared_cpu, ASleepingThreadWantsItNoMore) {
    go_before_others(2); // the stranger too, else it would get no CPU
    followed_child child(*watcher, [] {
        stay_on({cpu});
        go_before_others(1);
        busy_forever();
    });
    stranger sleepy([] {
        for (;;)
            usleep(1000);
    });
    bool always = true;
    for (int i = 0; always && i < 100; i++)
        always = is_shared_for(50);
    EXPECT_FALSE(always);
}

} // namespace
} // namespace holdfast::test
