// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/lock_names.hpp"

#include <fmt/core.h>

#include "cli/symbols/symbol_name.hpp"
#include "cli/top/printable.hpp"

namespace holdfast::cli::top {
namespace {

// Of memory that no file is behind the address says more.
bool says_where(const std::string &name) {
    return !name.empty() && name.front() != '[';
}

// Up to the first address that is none of code's: a stack without frame pointers ends in chance.
template <typename F>
std::string names_of(const std::vector<std::uint64_t> &stack, F name_of) {
    std::string names;
    for (std::size_t i = 0; i < stack.size(); i++) {
        // Behind a call, unless it is where the thread was: the call itself is meant.
        const std::string &name = name_of(stack[i] - (i != 0));
        if (!says_where(name))
            break;
        names += (i == 0 ? "" : " < ") + name.substr(0, name.rfind("+0x"));
    }
    return names;
}

} // namespace

void lock_names::name(process_sample &process) {
    auto known = known_.find(process.id);
    if (known == known_.end() || known->second.program != process.name) {
        known_.erase(process.id);
        known = known_
                    .emplace(process.id, known_process{.symbols = process_symbols(process.id.pid, files_),
                                                       .program = process.name,
                                                       .names = {}})
                    .first;
    }
    known->second.asked_for = true;
    bool looked_again = false;
    auto name_of = [&](std::uint64_t address) -> const std::string & {
        std::string &name = known->second.names[address];
        if (!name.empty())
            return name;
        name = printable(without_parentheses(known->second.symbols.name_of(address)));
        // It may have been mapped since: a library that was opened later.
        if (name.empty() && !looked_again) {
            looked_again = true;
            known->second.symbols.look_again();
            name = printable(without_parentheses(known->second.symbols.name_of(address)));
        }
        return name;
    };
    for (lock_sample &each : process.each_lock) {
        if (says_where(name_of(each.address)))
            each.name = name_of(each.address);
        else if (each.creation_site != 0 && says_where(name_of(each.creation_site)))
            each.name = fmt::format("{:#x} made in {}", each.address, name_of(each.creation_site));
        each.holder_was_in = names_of(each.holder_stack, name_of);
    }
}

void lock_names::forget_others() {
    std::erase_if(known_, [](const auto &each) { return !each.second.asked_for; });
    for (auto &[id, what] : known_)
        what.asked_for = false;
}

} // namespace holdfast::cli::top
