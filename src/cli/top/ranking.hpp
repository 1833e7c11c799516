// SPDX-License-Identifier: MIT OR Apache-2.0
// Which processes and locks are shown, and in what order. Functions of their arguments alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/top/change.hpp"

namespace holdfast::cli::top {

// Numbers: the highest first. pid and name: the lowest first.
enum class sort_key { waiting, acquisitions, contended, preemptions, pid, name };

const std::vector<std::string> &sort_key_names();
const char *name_of(sort_key key);
std::optional<sort_key> sort_key_named(std::string_view name);
sort_key next_after(sort_key key);

struct ranking {
    sort_key by = sort_key::waiting;
    std::string filter{}; // part of a program's name, user, number, or a lock's name or address; case does not matter
    bool idle = false;    // also processes and locks that nobody waited for, of those that only the kernel shows
};

// Those that the ranking lets through, in its order, and their locks likewise. A process stays with all of its locks
// when it passes the filter itself, else with those that pass.
std::vector<process_change> ranked(const std::vector<process_change> &processes, const ranking &how);

} // namespace holdfast::cli::top
