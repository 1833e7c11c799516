// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/waits/stack_reader.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "cli/common/say.hpp"
#include "cli/symbols/process_stat.hpp"
#include "cli/symbols/symbol_name.hpp"

namespace holdfast::cli {
namespace {

// A library may have been loaded since: its code is looked for again, but not for each stack.
constexpr std::uint64_t looks_apart_ns = 1'000'000'000;

constexpr std::size_t places_kept = 65536; // some 10 MB

// Files whose functions stand between a program and its locks.
constexpr std::array<std::string_view, 9> files_of_locks = {
    "libc.so", "libc-", "libpthread", "ld-linux", "libholdfast", "libstdc++.so", "ld-musl", "libc++", "libjvm.so"};
// And functions that compilers put into the program itself, Java's among them.
constexpr std::array<std::string_view, 9> functions_of_locks = {
    "std::",       "__gthread",    "pthread_",
    "__gnu_cxx::", "__invoke",     "_M_invoke",
    "_M_run",      "monitorenter", "_complete_monitor_locking"};

template <class List>
bool begins_like_one_of(std::string_view name, const List &beginnings) {
    return std::ranges::any_of(beginnings, [&](std::string_view each) { return name.starts_with(each); });
}

// The name under which programs know a function of the interposer's: "pthread_cond_wait" of hf_cond_wait
// (src/preload). Of others the name that there is.
std::string name_for_programs(const std::string &name) {
    constexpr std::string_view own = "hf_";
    constexpr std::array<std::string_view, 5> objects = {"mutex_", "cond_", "rwlock_", "barrier_", "spin_"};
    if (name.starts_with(own) && begins_like_one_of(std::string_view(name).substr(own.size()), objects))
        return "pthread_" + name.substr(own.size());
    return name;
}

// Without an offset, without what a function takes, and without what would command a terminal.
std::string function_in(const std::string &symbol, bool has_symbol) {
    std::string name = has_symbol ? symbol.substr(0, symbol.rfind("+0x")) : symbol;
    return with_controls_shown(without_parentheses(name));
}

} // namespace

std::vector<std::unique_ptr<call_chain>> stack_reader::first_chain() {
    std::vector<std::unique_ptr<call_chain>> chains;
    chains.push_back(std::make_unique<call_chain>());
    return chains;
}

stack_reader::known_process &stack_reader::known(const watched_process &process) {
    auto &place = processes_[process];
    if (!place)
        place = std::make_unique<known_process>(process.pid, files_);
    return *place;
}

const call_chain &stack_reader::frames_at(known_process &process, std::uint64_t address) {
    auto [frames, is_new] = process.frames.try_emplace(address);
    if (!is_new)
        return frames->second;
    std::optional<code_place> place = process.stacks.place_of(address);
    auto known = place ? frames_of_files_.find(*place) : frames_of_files_.end();
    if (known != frames_of_files_.end())
        return frames->second = known->second;
    frames->second = named_frames(process, address);
    // A name may be missing since this process has too many symbols.
    if (place && is_named(frames->second.back())) {
        if (frames_of_files_.size() >= places_kept)
            frames_of_files_.clear();
        frames_of_files_.emplace(*place, frames->second);
    }
    return frames->second;
}

call_chain stack_reader::named_frames(known_process &process, std::uint64_t address) {
    std::string symbol = process.symbols.name_of(address);
    if (symbol == "[anonymous]")
        symbol = process.made_at_run_time.name_of(address);
    std::string file = std::filesystem::path(process.symbols.file_of(address)).filename().string();
    bool in_file_of_locks = begins_like_one_of(file, files_of_locks);
    bool has_symbol = !symbol.starts_with(file + "+") && !symbol.starts_with('[');
    call_chain frames;
    if (in_file_of_locks) {
        frames.push_back({.function = with_controls_shown(process.stacks.function_at(address)), .file = ""});
    } else {
        for (const source_frame &each : process.stacks.source_of(address))
            frames.push_back({.function = with_controls_shown(each.function),
                              .file = with_controls_shown(each.file),
                              .line = each.line});
    }
    if (frames.empty())
        frames.emplace_back();
    // What the file itself calls its function is what other tools show, too.
    if (!has_symbol && symbol.starts_with(file + "+"))
        symbol = process.symbols.name_of(process.symbols.begin_of_function(address));
    if (has_symbol || frames.back().function.empty())
        frames.back().function = function_in(symbol, has_symbol);
    if (file.starts_with("libholdfast")) {
        std::string name = name_for_programs(frames.back().function);
        frames = {{.function = name.starts_with("pthread_") ? name : functions_of_holdfast, .file = ""}};
    }
    bool is_gos = process.symbols.is_gos(address);
    for (call_frame &each : frames) {
        each.is_gos = is_gos;
        each.of_locks = in_file_of_locks || begins_like_one_of(each.function, functions_of_locks);
    }
    return frames;
}

chain_number stack_reader::read(const watched_process &process, const hf_stack &stack) {
    known_process *of = &known(process);
    std::vector<std::uint64_t> addresses = of->stacks.frames_of(stack);
    if (hf_monotonic_ns() - of->looked_ns > looks_apart_ns) {
        of->looked_ns = hf_monotonic_ns();
        if (of->stacks.is_outdated()) {
            auto fresh = std::make_unique<known_process>(process.pid, files_); // first: files that both have are kept
            std::swap(processes_[process], fresh);
            of = &known(process);
            addresses = of->stacks.frames_of(stack);
        }
    }
    if (addresses.empty())
        return no_chain;
    auto [place, is_new] = of->seen.try_emplace(addresses, chains_.size());
    if (!is_new)
        return place->second;
    auto chain = std::make_unique<call_chain>();
    for (std::uint64_t each : addresses) {
        const call_chain &frames = frames_at(*of, each);
        chain->insert(chain->end(), frames.begin(), frames.end());
    }
    chains_.push_back(std::move(chain));
    return place->second;
}

std::string stack_reader::name_of_data(const watched_process &process, std::uint64_t address) {
    std::string name = known(process).symbols.name_of(address);
    return name.empty() || name.front() == '[' ? "" : with_controls_shown(without_parentheses(name));
}

bool has_ended(const watched_process &process) {
    std::optional<process_stat> found = process_stat_of(process.pid);
    return !found || found->started_ticks != ticks_of(process.started_ns);
}

void stack_reader::forget_ended() {
    std::erase_if(processes_, [](const auto &each) { return has_ended(each.first); });
}

} // namespace holdfast::cli
