// SPDX-License-Identifier: MIT OR Apache-2.0
// Which of the processes that were watched run still.
#include "cli/waits/stack_reader.hpp"

#include <csignal>
#include <ctime>
#include <fstream>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/symbols/process_stat.hpp"

namespace holdfast::cli {
namespace {

std::uint64_t tick_ns() {
    return static_cast<std::uint64_t>(1'000'000'000 / sysconf(_SC_CLK_TCK));
}

watched_process running(pid_t pid) {
    std::optional<process_stat> found = process_stat_of(pid);
    EXPECT_TRUE(found.has_value());
    return {.pid = pid, .started_ns = found ? found->started_ticks * tick_ns() + tick_ns() / 2 : 0};
}

TEST(has_ended, NotWhileItRuns) {
    EXPECT_FALSE(has_ended(running(getpid())));
    EXPECT_FALSE(has_ended(running(1)));
}

// Shown able to fail: has_ended that asks by kill(2) whether there is one of that number.
TEST(has_ended, WhenItsNumberIsAnothersByNow) {
    watched_process before = running(getpid());
    before.started_ns -= tick_ns();
    EXPECT_TRUE(has_ended(before));
}

void *outlive_main_thread(void *) {
    pause();
    return nullptr;
}

// Shown able to fail: process_stat_of that goes by the state alone, which is the main thread's.
TEST(has_ended, NotWithItsMainThread) {
    pid_t child = fork();
    if (child == 0) {
        pthread_t other;
        pthread_create(&other, nullptr, outlive_main_thread, nullptr);
        syscall(SYS_exit, 0); // of this thread alone
    }
    watched_process process = running(child);
    auto state = [child] {
        std::ifstream file("/proc/" + std::to_string(child) + "/stat");
        std::string text{std::istreambuf_iterator<char>(file), {}};
        return text.at(text.rfind(')') + 2);
    };
    while (state() != 'Z')
        usleep(1000);
    EXPECT_FALSE(has_ended(process));
    kill(child, SIGKILL);
    siginfo_t how{};
    waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT);
    EXPECT_TRUE(has_ended(process)) << "a zombie";
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(has_ended(process)) << "gone";
}

} // namespace
} // namespace holdfast::cli
