// SPDX-License-Identifier: MIT OR Apache-2.0
// The option --locks, and the order in which locks take turns.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cli/start/session.hpp"

namespace CLI {
class App;
}

namespace holdfast::cli {

inline constexpr unsigned rounds_max = 100000;

// glibc and every lock of lock_list.def, each once: without "default", which is one of them.
std::vector<std::string> every_lock();

// Which names a verb takes: what can be put under any program, or the peers of peer_list.def besides, and "peers" for
// all of them that this machine has; or those of coroutines.
enum class lock_choice { interposed, with_peers, coroutines };

// What a contender of lock_choice::interposed makes of a program: a lock under its mutexes, or "unmonitored", which is
// the FlexGuard mutex that meets no monitor.
interposition interposition_of(const std::string &contender);

// `locks` holds the default.
void add_locks_option(CLI::App &verb, std::vector<std::string> &locks, lock_choice choice);

// Leaves each name once, with "peers" written out. Throws usage_error for an unknown one.
void check_locks(std::vector<std::string> &locks, lock_choice choice);

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
