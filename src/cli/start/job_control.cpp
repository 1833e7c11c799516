// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/job_control.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals_blocked.hpp"

namespace holdfast::cli {
namespace {

constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 100'000'000};

using path_of_stat = std::array<char, 32>;

path_of_stat stat_path_of(pid_t child) {
    path_of_stat path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/stat", static_cast<int>(child));
    return path;
}

// 't' is a debugger's stop. The child is not collected meanwhile, so the file is its own to the end.
bool tells_stopped(const char *stat_path) {
    std::array<char, 512> text{};
    int fd = open(stat_path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text.data(), text.size() - 1);
    if (fd >= 0)
        close(fd);
    const char *name_end = got <= 0 ? nullptr : std::strrchr(text.data(), ')');
    return !name_end || std::strncmp(name_end, ") T", 3) == 0 || std::strncmp(name_end, ") t", 3) == 0;
}

// After a fork in a process that may have other threads: async-signal-safe calls only. Says it again and again until
// it is ended, as what it says before the parent has stopped is lost.
[[noreturn]] void watch(const char *stat_path, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) {
        if (!tells_stopped(stat_path))
            kill(parent, SIGCONT);
        nanosleep(&between_looks, nullptr);
    }
    _exit(0);
}

} // namespace

bool is_stopped(pid_t child) {
    return tells_stopped(stat_path_of(child).data());
}

waker::waker(pid_t child) {
    path_of_stat stat_path = stat_path_of(child);
    // What is sent to the whole group is not for it, and must not reach the handlers that it has of us.
    signals_blocked quiet;
    pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0)
        watch(stat_path.data(), parent);
}

waker::~waker() {
    if (pid_ < 0)
        return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

} // namespace holdfast::cli
