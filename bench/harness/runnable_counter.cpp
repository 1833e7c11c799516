// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/runnable_counter.hpp"

#include <array>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>

namespace holdfast::bench {
namespace {

// "11206 (name) R 1 ...": the name may hold anything, parentheses and spaces too; what follows it may not. proc(5).
bool is_runnable(std::string_view stat) {
    std::size_t name_end = stat.rfind(") ");
    return name_end != std::string_view::npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'R';
}

} // namespace

runnable_counter::runnable_counter(const std::vector<pid_t> &threads) {
    if (threads.size() > threads_max)
        return;
    for (pid_t thread : threads) {
        int fd = open(("/proc/self/task/" + std::to_string(thread) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            states_.push_back(fd);
            continue;
        }
        for (int state : states_)
            close(state);
        states_.clear();
        return;
    }
}

runnable_counter::~runnable_counter() {
    for (int state : states_)
        close(state);
}

unsigned runnable_counter::now() const noexcept {
    unsigned runnable = 0;
    std::array<char, 512> text;
    for (int state : states_) {
        ssize_t got = pread(state, text.data(), text.size(), 0);
        if (got > 0)
            runnable += is_runnable({text.data(), static_cast<std::size_t>(got)});
    }
    return runnable;
}

} // namespace holdfast::bench
