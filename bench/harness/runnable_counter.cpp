// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/runnable_counter.hpp"

#include <string_view>

namespace holdfast::bench {
namespace {

// "11206 (name) R 1 ...": the name may hold anything, parentheses and spaces too; what follows it may not. proc(5).
bool is_runnable(std::string_view stat) {
    std::size_t name_end = stat.rfind(") ");
    return name_end != std::string_view::npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'R';
}

} // namespace

unsigned runnable_counter::now() const noexcept {
    unsigned runnable = 0;
    states_.read_all([&](std::string_view stat) { runnable += is_runnable(stat); });
    return runnable;
}

} // namespace holdfast::bench
