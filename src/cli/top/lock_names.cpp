// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/lock_names.hpp"

#include <fmt/core.h>
#include <string_view>

#include "cli/top/printable.hpp"

namespace holdfast::cli::top {
namespace {

// Of memory that no file is behind the address says more.
bool says_where(const std::string &name) {
    return !name.empty() && name.front() != '[';
}

// "queue_member::lock" of "(anonymous namespace)::queue_member((anonymous namespace)::options const&)::lock".
std::string without_parentheses(std::string name) {
    constexpr std::string_view nameless = "(anonymous namespace)::";
    for (std::size_t at = name.find(nameless); at != std::string::npos; at = name.find(nameless))
        name.erase(at, nameless.size());
    std::string outside;
    int depth = 0;
    for (char c : name) {
        depth += c == '(';
        if (depth <= 0)
            outside += c;
        depth -= c == ')';
    }
    return outside;
}

} // namespace

void lock_names::name(process_sample &process) {
    auto known = known_.find(process.id);
    if (known == known_.end() || known->second.program != process.name) {
        known_.erase(process.id);
        known = known_
                    .emplace(
                        process.id,
                        known_process{.symbols = process_symbols(process.id.pid), .program = process.name, .names = {}})
                    .first;
    }
    known->second.asked_for = true;
    auto name_of = [&](std::uint64_t address) -> const std::string & {
        auto [place, is_new] = known->second.names.try_emplace(address);
        if (is_new)
            place->second = printable(without_parentheses(known->second.symbols.name_of(address)));
        return place->second;
    };
    for (lock_sample &each : process.each_lock) {
        if (says_where(name_of(each.address)))
            each.name = name_of(each.address);
        else if (each.creation_site != 0 && says_where(name_of(each.creation_site)))
            each.name = fmt::format("{:#x} made in {}", each.address, name_of(each.creation_site));
    }
}

void lock_names::forget_others() {
    std::erase_if(known_, [](const auto &each) { return !each.second.asked_for; });
    for (auto &[id, what] : known_)
        what.asked_for = false;
}

} // namespace holdfast::cli::top
