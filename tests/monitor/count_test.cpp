// SPDX-License-Identifier: MIT OR Apache-2.0
// The count of preempted critical sections: who is in it, and that it returns to 0 whatever happens to whom
// (monitor.M1, M2).
//
// Shown able to fail: without the `count_in` of at_switch, every test; without the delete in at_exec nothing here (exec
// leaves no record behind), see AnotherProgramIsNotFollowed, which then finds the process still followed.
#include <atomic>
#include <cerrno>
#include <fstream>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "base/thread_cpus.hpp"
#include "holdfast/flexguard.h"
#include "monitor/followed_child.hpp"

namespace holdfast::test {
namespace {

constexpr int crowd = 8;

void hold_and_be_busy() {
    static hf_flexguard_t lock;
    hf_flexguard_lock(&lock);
    busy_forever();
}

// Stops itself holding a lock; continued, it goes on holding it.
void hold_and_stop() {
    static hf_flexguard_t lock;
    hf_flexguard_lock(&lock);
    raise(SIGSTOP);
    busy_forever();
}

class count : public testing::Test {
protected:
    std::unique_ptr<monitor> watcher = monitor_or_skip();

    // Children that hold a lock each and fight for one CPU: all but one are preempted at any time.
    std::vector<std::unique_ptr<followed_child>> preempted_holders(const std::function<void()> &hold) {
        std::vector<std::unique_ptr<followed_child>> holders;
        for (int i = 0; i < crowd; i++)
            holders.push_back(std::make_unique<followed_child>(*watcher, [&hold] {
                stay_on({0});
                hold();
            }));
        EXPECT_GE(count_settles(*watcher, [](auto now) { return now >= crowd - 1; }), crowd - 1u);
        return holders;
    }

    void expect_count(std::uint64_t wanted) { EXPECT_EQ(count_becomes(*watcher, wanted), wanted); }
};

TEST_F(count, HolderIsCountedWhileSwitchedOut) {
    followed_child holder(*watcher, [] {
        static hf_flexguard_t lock;
        hf_flexguard_lock(&lock);
        raise(SIGSTOP);
        hf_flexguard_unlock(&lock); // else whatever looks at the count on a busy machine may always have preempted us
        busy_forever();
    });
    holder.wait_until_stopped();
    expect_count(1);
    holder.send(SIGCONT);
    expect_count(0);
}

TEST_F(count, OthersAreNot) {
    followed_child idle(*watcher, [] {
        static hf_flexguard_t lock;
        hf_flexguard_lock(&lock);
        hf_flexguard_unlock(&lock);
        raise(SIGSTOP); // it has been inside, and is out again
        busy_forever();
    });
    idle.wait_until_stopped();
    // It may have been preempted while it was inside.
    const std::uint64_t before = watcher->page().scope[HF_SCOPE_MACHINE].preemptions_total;
    idle.send(SIGCONT);
    usleep(50 * 1000);
    idle.stop();
    expect_count(0);
    EXPECT_EQ(watcher->page().scope[HF_SCOPE_MACHINE].preemptions_total, before);
}

TEST_F(count, PreemptionsAndSleepsAreToldApart) {
    auto holders = preempted_holders(hold_and_be_busy);
    EXPECT_GT(watcher->page().scope[HF_SCOPE_MACHINE].preemptions_total, 0u);
    std::uint64_t sleeps = watcher->page().scope[HF_SCOPE_MACHINE].sleeps_total;
    followed_child sleeper(*watcher, [] {
        static hf_flexguard_t lock;
        hf_flexguard_lock(&lock);
        for (;;)
            pause();
    });
    const std::uint64_t *sleeps_now = &watcher->page().scope[HF_SCOPE_MACHINE].sleeps_total;
    EXPECT_TRUE(comes_true([&] { return hf_load_relaxed(sleeps_now) > sleeps; }));
}

TEST_F(count, ReturnsToZeroAfterKill) {
    auto holders = preempted_holders(hold_and_be_busy);
    for (auto &holder : holders)
        kill(holder->pid(), SIGKILL);
    expect_count(0);
}

TEST_F(count, ReturnsToZeroAfterExec) {
    static std::atomic<bool> *now = static_cast<std::atomic<bool> *>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    *now = false;
    auto holders = preempted_holders([] {
        static hf_flexguard_t lock;
        hf_flexguard_lock(&lock);
        while (!*now)
            be_busy();
        execl("/bin/sleep", "sleep", "3600", nullptr);
    });
    *now = true;
    expect_count(0);
    for (auto &holder : holders)
        EXPECT_EQ(kill(holder->pid(), 0), 0) << "still alive, as another program";
}

// Polls until the process is that program, and has come to sleep in it.
bool sleeps_as(pid_t pid, const std::string &program) {
    std::string wanted = " (" + program + ") S ";
    return comes_true([&] {
        std::string line;
        std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), line);
        return line.find(wanted) != std::string::npos;
    });
}

TEST_F(count, AnotherProgramIsNotFollowed) {
    followed_child holder(*watcher, [] { execl("/bin/sleep", "sleep", "3600", nullptr); });
    EXPECT_TRUE(sleeps_as(holder.pid(), "sleep"));
    // There is room for two offsets: both are taken only if the one from before is forgotten.
    EXPECT_EQ(watcher->follow(holder.pidfd(), 1), 0);
    EXPECT_EQ(watcher->follow(holder.pidfd(), 2), 0);
    EXPECT_EQ(watcher->follow(holder.pidfd(), 3), EEXIST);
}

TEST_F(count, HolderByEitherCopyOfTheLibraryIsCounted) {
    static __thread hf_critical_words *other_record;
    static hf_critical_words other_words = {.critical_depth = 1, .queue_state = HF_QUEUE_IDLE, .lock = 0};
    followed_child holder(*watcher, [] {
        other_record = &other_words;
        raise(SIGSTOP);
        busy_forever();
    });
    auto offset = reinterpret_cast<char *>(&other_record) - hf_thread_pointer();
    EXPECT_EQ(watcher->follow(holder.pidfd(), offset), 0);
    holder.wait_until_stopped();
    holder.send(SIGCONT); // it may have stopped before its second record was known
    holder.stop();
    expect_count(1);
}

TEST_F(count, ForkedChildIsFollowedToo) {
    static auto *grandchild = static_cast<std::atomic<pid_t> *>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    *grandchild = 0;
    followed_child holder(*watcher, [] {
        static hf_flexguard_t lock;
        hf_flexguard_lock(&lock);
        if (fork() == 0)
            *grandchild = getpid(); // with a copy of the lock, held
        busy_forever();
    });
    while (*grandchild == 0)
        usleep(1000);
    usleep(50 * 1000);
    holder.stop();
    kill(*grandchild, SIGSTOP);
    expect_count(2);
    kill(*grandchild, SIGKILL);
    expect_count(1);
    holder.end();
    expect_count(0);
}

TEST_F(count, ReturnsToZeroAfterThreadsExit) {
    static std::atomic<bool> *now = static_cast<std::atomic<bool> *>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    *now = false;
    followed_child process(*watcher, [] {
        stay_on({0});
        static hf_flexguard_t locks[crowd];
        for (auto &lock : locks)
            std::thread([&lock] {
                hf_flexguard_lock(&lock);
                while (!*now)
                    be_busy();
            }).detach(); // it ends holding its lock
        for (;;)
            pause();
    });
    EXPECT_GE(count_settles(*watcher, [](auto now_counted) { return now_counted >= crowd - 1; }), crowd - 1u);
    *now = true;
    expect_count(0);
    EXPECT_EQ(kill(process.pid(), 0), 0) << "the process lives on";
}

TEST_F(count, ReturnsToZeroWhenForgotten) {
    followed_child holder(*watcher, hold_and_stop);
    holder.wait_until_stopped();
    expect_count(1);
    watcher->forget(holder.pidfd());
    holder.send(SIGCONT);
    expect_count(0);
    holder.stop();
    usleep(50 * 1000);
    expect_count(0);
}

TEST_F(count, IsZeroAndRetiredAfterTheMonitorHasGone) {
    followed_child holder(*watcher, hold_and_stop);
    holder.wait_until_stopped();
    expect_count(1);
    auto *page = static_cast<const hf_hint_page *>(
        mmap(nullptr, sizeof(hf_hint_page), PROT_READ, MAP_SHARED, watcher->page_fd(), 0));
    ASSERT_NE(page, MAP_FAILED);
    watcher.reset();
    EXPECT_EQ(page->scope[HF_SCOPE_MACHINE].preempted_critical_sections, 0u);
    EXPECT_EQ(page->monitor_state, static_cast<uint32_t>(HF_MONITOR_RETIRED));
    munmap(const_cast<hf_hint_page *>(page), sizeof(hf_hint_page));
}

// Its threads die one by one, while the memory in which they said that they are critical is still there. Several for
// each CPU: so most are preempted, on a machine with many, too.
TEST_F(count, ReturnsToZeroAfterAKillOfManyThreads) {
    precedence over_them;
    const std::uint64_t threads = 4 * std::thread::hardware_concurrency();
    for (int round = 0; round < 10; round++) {
        followed_child process(*watcher, [threads] {
            static std::vector<hf_flexguard_t> locks(threads);
            for (auto &lock : locks)
                std::thread([&lock] {
                    hf_flexguard_lock(&lock);
                    busy_forever();
                }).detach();
            for (;;)
                pause();
        });
        EXPECT_GE(count_settles(*watcher, [&](auto now) { return now >= threads / 2; }), threads / 2);
        process.end();
        expect_count(0);
    }
}

void expect_to_survive_a_storm_of_kills(monitor &watcher) {
    precedence over_the_storm;
    for (int round = 0; round < 20; round++) {
        std::vector<std::unique_ptr<followed_child>> storm;
        for (int i = 0; i < 20; i++)
            storm.push_back(std::make_unique<followed_child>(watcher, [] {
                static hf_flexguard_t lock;
                for (;;) {
                    hf_flexguard_lock(&lock);
                    for (int turns = 0; turns < 10'000; turns++)
                        be_busy();
                    hf_flexguard_unlock(&lock);
                }
            }));
        usleep(static_cast<useconds_t>(random() % 5000));
        for (auto &child : storm)
            kill(child->pid(), SIGKILL);
    }
    EXPECT_EQ(count_becomes(watcher, 0), 0u);
    EXPECT_EQ(watcher.page().uncounted_total, 0u);
}

// A record that lies where the process has no memory: the thread is taken for not critical, and that is counted.
// Shown able to fail: without count_unreadable() the total stays 0.
TEST_F(count, CountsThreadsThatItCannotRead) {
    followed_child sleeper(*watcher, [] {
        for (;;)
            usleep(1000);
    });
    const std::uint64_t before = watcher->page().unreadable_total;
    watcher->forget(sleeper.pidfd());
    constexpr std::int64_t far_away = std::int64_t{1} << 45; // above a thread pointer near the stack: no user memory
    ASSERT_EQ(watcher->follow(sleeper.pidfd(), far_away), 0);
    EXPECT_TRUE(comes_true([&] { return watcher->page().unreadable_total > before + 10; }));
    EXPECT_EQ(watcher->page().scope[HF_SCOPE_MACHINE].preempted_critical_sections, 0u);
}

TEST_F(count, SurvivesAStormOfKills) {
    expect_to_survive_a_storm_of_kills(*watcher);
}

// Under a kernel that hides some switches from the monitor: here, all those from processes that are not followed, the
// idle one among them. Without the count_in_late of at_switch, each of these fails.
class count_with_unseen_switches : public count {
protected:
    void SetUp() override {
        watcher.reset();
        watcher = monitor_or_skip(monitor::sight::from_followed);
    }
};

TEST_F(count_with_unseen_switches, ReturnsToZeroWhenTheHolderSleepsAgain) {
    followed_child holder(*watcher, [] {
        static hf_flexguard_t lock;
        hf_flexguard_lock(&lock);
        raise(SIGSTOP);
        hf_flexguard_unlock(&lock);
        for (;;)
            pause();
    });
    holder.wait_until_stopped();
    expect_count(1);
    holder.send(SIGCONT);
    expect_count(0);
    EXPECT_EQ(watcher->page().unseen_switches_total, 1u);
}

TEST_F(count_with_unseen_switches, ReturnsToZeroAfterKill) {
    followed_child holder(*watcher, hold_and_stop);
    holder.wait_until_stopped();
    expect_count(1);
    holder.end();
    expect_count(0);
}

TEST_F(count_with_unseen_switches, ReturnsToZeroAfterExec) {
    followed_child holder(*watcher, [] {
        static hf_flexguard_t lock;
        hf_flexguard_lock(&lock);
        raise(SIGSTOP);
        execl("/bin/sleep", "sleep", "3600", nullptr);
    });
    holder.wait_until_stopped();
    expect_count(1);
    holder.send(SIGCONT);
    expect_count(0);
    EXPECT_EQ(kill(holder.pid(), 0), 0) << "still alive, as another program";
}

TEST_F(count_with_unseen_switches, SurvivesAStormOfKills) {
    expect_to_survive_a_storm_of_kills(*watcher);
}

} // namespace
} // namespace holdfast::test
