// SPDX-License-Identifier: MIT OR Apache-2.0
// The option --locks, and the order in which locks take turns.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace holdfast::cli {

inline constexpr unsigned rounds_max = 100000;

// glibc and every lock of lock_list.def, each once: without "default", which is one of them.
std::vector<std::string> every_lock();

// `locks` holds the default.
void add_locks_option(CLI::App &verb, std::vector<std::string> &locks);

// Leaves each name once. Throws usage_error for an unknown one.
void check_locks(std::vector<std::string> &locks);

template <class Value>
std::vector<Value> without_repeats(const std::vector<Value> &values) {
    std::vector<Value> once;
    for (const auto &value : values) {
        if (std::find(once.begin(), once.end(), value) == once.end())
            once.push_back(value);
    }
    return once;
}

// The same names, beginning `by` places later.
std::vector<std::string> rotated(std::vector<std::string> locks, unsigned by);

} // namespace holdfast::cli
