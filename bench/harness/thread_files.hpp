// SPDX-License-Identifier: MIT OR Apache-2.0
// What the kernel says of some threads of this process: a file of /proc/self/task/<tid> of each, opened once.
#pragma once

#include <cstddef>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace holdfast::bench {

class thread_files {
public:
    // Of these threads, or of none: where they are more than `threads_max`, or where one's file can't be opened.
    thread_files(const std::vector<pid_t> &threads, const char *name);
    ~thread_files();
    thread_files(const thread_files &) = delete;
    thread_files &operator=(const thread_files &) = delete;

    static constexpr std::size_t threads_max = 256; // a descriptor each

    std::size_t size() const noexcept { return files_.size(); }

    // Calls `use` with the beginning of each file, as it is now; with nothing for a thread that is gone.
    template <class Use>
    void read_all(Use use) const {
        char text[text_bytes];
        for (int file : files_)
            use(read(file, text));
    }

private:
    static constexpr std::size_t text_bytes = 512;
    static std::string_view read(int file, char (&text)[text_bytes]) noexcept;

    std::vector<int> files_;
};

} // namespace holdfast::bench
