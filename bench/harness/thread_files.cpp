// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/thread_files.hpp"

#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace holdfast::bench {

thread_files::thread_files(const std::vector<pid_t> &threads, const char *name) {
    if (threads.size() > threads_max)
        return;
    for (pid_t thread : threads) {
        int file = open(("/proc/self/task/" + std::to_string(thread) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
        if (file >= 0) {
            files_.push_back(file);
            continue;
        }
        for (int opened : files_)
            close(opened);
        files_.clear();
        return;
    }
}

thread_files::~thread_files() {
    for (int file : files_)
        close(file);
}

std::string_view thread_files::read(int file, char (&text)[text_bytes]) noexcept {
    ssize_t got = pread(file, text, sizeof(text), 0);
    return {text, got > 0 ? static_cast<std::size_t>(got) : 0};
}

} // namespace holdfast::bench
