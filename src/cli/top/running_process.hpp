// SPDX-License-Identifier: MIT OR Apache-2.0
// The processes that run on this machine, as far as they are ours to see.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/top/look.hpp"

namespace holdfast::cli::top {

struct running_process {
    process_id id;
    std::string name; // printable
    uid_t uid = 0;
    std::uint64_t threads = 0;
};

// Nothing when it has ended, or is a zombie.
std::optional<running_process> running_process_of(pid_t pid);

// All of them, for root; the caller's own, for others.
std::vector<running_process> running_processes();

// A user's name, or number.
std::string user_named(uid_t uid);

// What libraries tell of a process.
struct libraries_mapped {
    bool holdfasts = false;
    bool musl = false; // in place of glibc
};

// Remembers what it has found: a process is looked into once for each program that it runs.
class library_detector {
public:
    libraries_mapped of(const process_id &id);
    // Those that were not asked for since the last call are forgotten.
    void forget_others();

private:
    struct finding {
        dev_t device;
        ino_t inode; // of its program
        libraries_mapped libraries;
        bool asked_for;
    };
    std::map<process_id, finding> found_;
};

} // namespace holdfast::cli::top
