// SPDX-License-Identifier: MIT OR Apache-2.0
// A child process that a monitor follows from its first instruction on.
#pragma once

#include <algorithm>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monitor/monitor.hpp"
#include "patience.hpp"
#include "thread/thread_record.h"

namespace holdfast::test {

// While it lives, its thread gets a CPU before those that it starts. Among many that are busy, one that kills them as
// their equal has a turn when each of them has had one: that takes minutes on a slow machine.
class precedence {
public:
    precedence() { EXPECT_EQ(setpriority(PRIO_PROCESS, 0, -19), 0); }
    ~precedence() { give_up(); }
    precedence(const precedence &) = delete;
    precedence &operator=(const precedence &) = delete;

    // What a child begins with: it has inherited it.
    static void give_up() { setpriority(PRIO_PROCESS, 0, 0); }
};

// A forked child has the monitor's links, too: its programs would run on when the monitor has gone.
inline void close_what_exec_closes() {
    rlimit most{};
    getrlimit(RLIMIT_NOFILE, &most);
    for (int fd = 3; fd < static_cast<int>(std::min<rlim_t>(most.rlim_cur, 4096)); fd++)
        if (int flags = fcntl(fd, F_GETFD); flags >= 0 && (flags & FD_CLOEXEC))
            close(fd);
}

class followed_child {
public:
    followed_child(monitor &watcher, const std::function<void()> &body) {
        int go[2];
        EXPECT_EQ(pipe(go), 0);
        pid_ = fork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            precedence::give_up();
            close_what_exec_closes();
            close(go[1]);
            char byte;
            [[maybe_unused]] ssize_t got = read(go[0], &byte, 1); // end of file: followed now
            close(go[0]);
            body();
            _exit(0);
        }
        close(go[0]);
        pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
        EXPECT_EQ(watcher.follow(pidfd_, hf_thread_record_tls_offset()), 0);
        close(go[1]);
    }
    ~followed_child() {
        end();
        close(pidfd_);
    }
    followed_child(const followed_child &) = delete;
    followed_child &operator=(const followed_child &) = delete;

    void send(int signal) const { ASSERT_EQ(kill(pid_, signal), 0); }

    // Sends SIGSTOP and waits until it has stopped.
    void stop() const {
        send(SIGSTOP);
        wait_until_stopped();
    }

    void wait_until_stopped() const {
        int status;
        ASSERT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
        ASSERT_TRUE(WIFSTOPPED(status));
    }

    // Ends it by kill -9 and waits for that.
    void end() {
        if (ended_)
            return;
        ended_ = true;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }

    pid_t pid() const { return pid_; }
    int pidfd() const { return pidfd_; }

private:
    pid_t pid_ = -1;
    int pidfd_ = -1;
    bool ended_ = false;
};

// As a program that this user starts, not as one that has given up another's rights: the kernel hides those.
[[nodiscard]] inline bool become(uid_t user) {
    return setuid(user) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

// A turn of a loop that keeps its CPU busy. No PAUSE: that is where an emulator goes on to its next CPU, so that it did
// hardly anything else (docs/virtual-machines.md).
inline void be_busy() {
    hf_program_order();
}

[[noreturn]] inline void busy_forever() {
    for (;;)
        be_busy();
}

// Polls until the count is as wanted; says the last one that it saw.
inline std::uint64_t count_settles(const monitor &watcher, const std::function<bool(std::uint64_t)> &wanted) {
    std::uint64_t count = 0;
    auto is_as_wanted = [&] {
        count = hf_load_relaxed(&watcher.page().scope[HF_SCOPE_MACHINE].preempted_critical_sections);
        return wanted(count);
    };
    comes_true(is_as_wanted);
    return count;
}

inline std::uint64_t count_becomes(const monitor &watcher, std::uint64_t wanted) {
    return count_settles(watcher, [wanted](std::uint64_t count) { return count == wanted; });
}

// The monitor, or a skipped test (status 77 from main) where the kernel or our rights refuse it.
inline std::unique_ptr<monitor> monitor_or_skip(monitor::sight seen = monitor::sight::every_switch) {
    try {
        return std::make_unique<monitor>(seen);
    } catch (const monitor_unavailable &unavailable) {
        std::printf("SKIPPED: %s\n", unavailable.what());
        std::fflush(stdout);
        _exit(77);
    }
}

} // namespace holdfast::test
