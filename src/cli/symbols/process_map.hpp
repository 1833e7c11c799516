// SPDX-License-Identifier: MIT OR Apache-2.0
// Which files a running process has mapped where, and those files themselves.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/descriptor.hpp"

namespace holdfast::cli {

struct mapping {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t offset = 0;
    bool executable = false;
    std::string path; // of a file, a name in brackets, or nothing
    std::string file; // which one it was when it was mapped: another may have that path by now

    bool is_of_file() const { return path.starts_with('/'); }
};

// In ascending order; none when the process has ended, or is another user's.
std::vector<mapping> mappings_of(pid_t process);

// False also where its program is not to be seen.
bool runs_on_musl(pid_t process);

// The very file, if we may (with CAP_SYS_ADMIN); else what has its path now, seen from the process's root directory:
// it may have another one than we. Regular files alone.
descriptor open_mapped_file(pid_t process, const mapping &where);

} // namespace holdfast::cli
