// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/measured_locks.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/session.hpp"

namespace holdfast::cli {

std::vector<std::string> every_lock() {
    std::vector<std::string> names = lock_names();
    std::erase(names, "default");
    return names;
}

void add_locks_option(CLI::App &verb, std::vector<std::string> &locks) {
    verb.add_option("--locks", locks, fmt::format("Locks, separated by commas, of {}", fmt::join(lock_names(), ", ")))
        ->type_name("NAME,...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->capture_default_str();
}

void check_locks(std::vector<std::string> &locks) {
    for (const auto &name : locks)
        check_lock_name(name);
    locks = without_repeats(locks);
}

std::vector<std::string> rotated(std::vector<std::string> locks, unsigned by) {
    std::rotate(locks.begin(), locks.begin() + static_cast<std::ptrdiff_t>(by % locks.size()), locks.end());
    return locks;
}

} // namespace holdfast::cli
