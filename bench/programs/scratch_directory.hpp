// SPDX-License-Identifier: MIT OR Apache-2.0
// A directory for the time of a run, removed also when the program is interrupted.
#pragma once

#include <filesystem>

namespace holdfast::bench {

// Make it before there are other threads: it blocks SIGINT, SIGTERM and SIGHUP in the calling thread and in all that
// this one starts, and has a thread wait for them, because a handler could not remove files.
class scratch_directory {
public:
    // In `parent`. Throws std::system_error.
    explicit scratch_directory(const std::filesystem::path &parent);
    ~scratch_directory();
    scratch_directory(const scratch_directory &) = delete;
    scratch_directory &operator=(const scratch_directory &) = delete;

    const std::filesystem::path &path() const { return path_; }

private:
    std::filesystem::path path_;
};

} // namespace holdfast::bench
