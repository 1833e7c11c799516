// SPDX-License-Identifier: MIT OR Apache-2.0
// Which locks' holders were not running, how often and for how long: the right lock of the right process, told to whom
// it concerns.
#include <algorithm>
#include <gtest/gtest.h>

#include "base/thread_cpus.hpp"
#include "hint/registration.h"
#include "holdfast/flexguard.h"
#include "monitor/client/statistics_reader.hpp"
#include "monitor/followed_child.hpp"
#include "monitor/server/monitor_server.hpp"

extern "C" bool hf_registers_at_start;
bool hf_registers_at_start = false;

namespace holdfast::test {
namespace {

constexpr uid_t nobody = 65534;

// Of the children: a forked process has them where we have.
hf_flexguard_t lock = HF_FLEXGUARD_INIT;
hf_flexguard_t other_lock = HF_FLEXGUARD_INIT;

std::uint64_t address_of(const hf_flexguard_t &which) {
    return reinterpret_cast<std::uintptr_t>(&which);
}

void be_busy() {
    stay_on({0});
    busy_forever();
}

void hold_and_be_busy() {
    stay_on({0});
    hf_flexguard_lock(&other_lock);
    hf_flexguard_unlock(&other_lock);
    hf_flexguard_lock(&lock);
    busy_forever();
}

const hf_holder_absences *of_lock(const hf_process_absences &told, const hf_flexguard_t &which) {
    auto *end = told.each + told.count;
    auto *found = std::find_if(told.each, end, [&](const auto &each) { return each.lock == address_of(which); });
    return found == end ? nullptr : &found->holders;
}

class absences : public testing::Test {
protected:
    std::unique_ptr<monitor> watcher = monitor_or_skip();

    // What is told of the process when it is as wanted, or what was told last.
    template <typename F>
    hf_process_absences told_when(int pidfd, F wanted) {
        hf_process_absences told{};
        comes_true([&] {
            told = {};
            EXPECT_TRUE(watcher->tell_absences(pidfd, told));
            return wanted(told);
        });
        return told;
    }

    hf_process_absences told_when_preempted(const followed_child &whose) {
        return told_when(whose.pidfd(), [](const auto &told) { return told.preempted_ns > 0; });
    }
};

TEST_F(absences, PreemptedHolderIsChargedToTheLockThatItHolds) {
    followed_child holder(*watcher, hold_and_be_busy);
    followed_child rival(*watcher, be_busy);
    auto told = told_when(holder.pidfd(), [](const auto &now) { return now.preempted_ns > 0 && now.preemptions > 2; });
    auto *holders = of_lock(told, lock);
    ASSERT_NE(holders, nullptr);
    EXPECT_GT(holders->preempted_ns, 0u);
    EXPECT_GE(holders->preempted_ns, holders->longest_ns);
    EXPECT_EQ(holders->longest_thread, static_cast<std::uint32_t>(holder.pid()));
    // It may have been preempted in the moment in which it had the other lock.
    auto *others = of_lock(told, other_lock);
    std::uint64_t with_other_lock = others ? others->preemptions : 0;
    EXPECT_LE(with_other_lock, 1u);
    EXPECT_EQ(told.preemptions, holders->preemptions + with_other_lock);
}

extern "C" char __executable_start, etext; // the linker's

TEST_F(absences, KeepWhereAHolderWas) {
    followed_child holder(*watcher, hold_and_be_busy);
    followed_child rival(*watcher, be_busy);
    auto told = told_when_preempted(holder);
    auto *holders = of_lock(told, lock);
    ASSERT_NE(holders, nullptr);
    EXPECT_GT(holders->stack_ns, 0u);
    EXPECT_GE(holders->stack[0], reinterpret_cast<std::uintptr_t>(&__executable_start));
    EXPECT_LT(holders->stack[0], reinterpret_cast<std::uintptr_t>(&etext));
}

TEST_F(absences, SleepIsToldApart) {
    followed_child sleeper(*watcher, [] {
        hf_flexguard_lock(&other_lock);
        for (;;)
            usleep(1000);
    });
    auto told = told_when(sleeper.pidfd(), [](const auto &now) { return now.asleep_ns > 0; });
    auto *holders = of_lock(told, other_lock);
    ASSERT_NE(holders, nullptr);
    EXPECT_GT(holders->sleeps, 0u);
    EXPECT_GT(holders->asleep_ns, 0u);
    EXPECT_EQ(told.sleeps, holders->sleeps);
}

TEST_F(absences, AThreadThatHoldsNothingIsNotCharged) {
    int said[2];
    ASSERT_EQ(pipe(said), 0);
    followed_child idle(*watcher, [&said] {
        stay_on({0});
        hf_flexguard_lock(&lock);
        hf_flexguard_unlock(&lock);
        close(said[0]);
        close(said[1]);
        busy_forever();
    });
    close(said[1]);
    char byte;
    ASSERT_EQ(read(said[0], &byte, 1), 0) << "end of file: it has let go";
    close(said[0]);
    // It may have been preempted in the moment in which it had the lock.
    hf_process_absences before{};
    ASSERT_TRUE(watcher->tell_absences(idle.pidfd(), before));
    followed_child holder(*watcher, hold_and_be_busy);
    EXPECT_GT(told_when_preempted(holder).preemptions, 0u);
    hf_process_absences told{};
    EXPECT_TRUE(watcher->tell_absences(idle.pidfd(), told));
    EXPECT_EQ(told.preemptions, before.preemptions);
}

TEST_F(absences, ForkedChildHasItsOwn) {
    int said[2];
    ASSERT_EQ(pipe(said), 0);
    followed_child parent(*watcher, [&said] {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            hf_flexguard_lock(&lock);
            for (;;)
                usleep(1000);
        }
        [[maybe_unused]] ssize_t wrote = write(said[1], &child, sizeof(child));
        for (;;)
            pause();
    });
    pid_t child = 0;
    ASSERT_EQ(read(said[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
    descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    EXPECT_GT(told_when(pidfd.get(), [](const auto &now) { return now.sleeps > 0; }).sleeps, 0u);
    hf_process_absences told{};
    EXPECT_TRUE(watcher->tell_absences(parent.pidfd(), told));
    EXPECT_EQ(told.sleeps, 0u);
    close(said[0]);
    close(said[1]);
}

TEST_F(absences, AreToldToRootAndToTheProcessesUser) {
    monitor_server serving(watcher.get(), listening_socket(), everybody_up_to(8));
    followed_child of_nobody(*watcher, [] {
        if (become(nobody))
            busy_forever();
    });
    followed_child of_root(*watcher, busy_forever);
    // become() gives up root's rights before it shows itself.
    EXPECT_TRUE(comes_true([&] { return peer_with_pid(of_nobody.pid()).uid == nobody; }));
    auto user_is_told = [&](pid_t process) { return read_absences(serving.socket_name(), process).value.has_value(); };
    EXPECT_TRUE(user_is_told(of_nobody.pid()));
    EXPECT_TRUE(user_is_told(of_root.pid()));
    EXPECT_FALSE(user_is_told(getpid())) << "it is not followed";
    EXPECT_FALSE(user_is_told(-1));
    pid_t asker = fork();
    if (asker == 0)
        _exit(become(nobody) && user_is_told(of_nobody.pid()) && !user_is_told(of_root.pid()) ? 0 : 1);
    int status = -1;
    EXPECT_EQ(waitpid(asker, &status, 0), asker);
    EXPECT_EQ(status, 0);
}

} // namespace
} // namespace holdfast::test
