// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/process_stat.hpp"

#include <fmt/core.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace holdfast::cli {
namespace {

// As much as there is. A process that ends meanwhile makes reading fail, which an iterator would throw.
std::string content_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

} // namespace

std::optional<process_stat> process_stat_of(pid_t pid) {
    // Of the fields behind the name: field 3, the state, is the first.
    constexpr std::size_t state = 0, threads = 17, started = 19;
    std::string text = content_of(fmt::format("/proc/{}/stat", pid));
    std::size_t name_begins = text.find('('), name_ends = text.rfind(')');
    if (name_begins == std::string::npos || name_ends == std::string::npos)
        return std::nullopt;
    std::istringstream rest(text.substr(name_ends + 1));
    std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
    if (fields.size() <= started)
        return std::nullopt;
    process_stat found{.name = text.substr(name_begins + 1, name_ends - name_begins - 1),
                       .threads = std::stoull(fields[threads]),
                       .started_ticks = std::stoull(fields[started])};
    bool main_thread_has_ended = fields[state] == "Z" || fields[state] == "X";
    return main_thread_has_ended && found.threads <= 1 ? std::nullopt : std::optional(found);
}

std::uint64_t ticks_of(std::uint64_t ns_since_boot) {
    static const auto tick_ns = static_cast<std::uint64_t>(1'000'000'000 / sysconf(_SC_CLK_TCK));
    return ns_since_boot / tick_ns;
}

} // namespace holdfast::cli
