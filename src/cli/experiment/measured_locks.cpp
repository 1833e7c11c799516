// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/measured_locks.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/common/exit_status.hpp"
#include "config/policy_text.h"
#include "measure/workload.hpp"
#include "park/slice_request.h"

namespace holdfast::cli {
namespace {

constexpr const char *all_peers = "peers";
constexpr const char *unmonitored = "unmonitored";
constexpr const char *rwscl = "rwscl"; // no mutex, so not in lock_list.def

std::vector<std::string> peer_names() {
    return {
#define HF_PEER(name, source, summary) #name,
#include "measure/peer_list.def"
#undef HF_PEER
    };
}

bool is_here(const std::string &peer) {
    return peer != "slice_extension" || hf_slice_requests_are_heard();
}

std::vector<std::string> known_names(lock_choice choice) {
    if (choice == lock_choice::coroutines)
        return coro_lock_names();
    std::vector<std::string> names = lock_names();
    if (choice == lock_choice::interposed)
        names.emplace_back(unmonitored);
    if (choice == lock_choice::with_peers) {
        for (const auto &one : peer_names())
            names.push_back(one);
        names.emplace_back(rwscl);
        names.emplace_back(all_peers);
    }
    return names;
}

} // namespace

std::vector<std::string> every_lock() {
    std::vector<std::string> names = lock_names();
    std::erase(names, "default");
    return names;
}

interposition interposition_of(const std::string &contender) {
    if (contender == unmonitored)
        return {.lock = "flexguard", .conf = {}, .meets_monitor = false};
    return {.lock = contender, .conf = {}};
}

void add_locks_option(CLI::App &verb, std::vector<std::string> &locks, lock_choice choice) {
    verb.add_option("--locks", locks,
                    fmt::format("Locks, separated by commas, of {}", fmt::join(known_names(choice), ", ")))
        ->type_name("NAME,...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->capture_default_str();
}

void check_locks(std::vector<std::string> &locks, lock_choice choice) {
    const char *conf = std::getenv(HF_CONF_VARIABLE);
    if (choice == lock_choice::interposed && conf && *conf)
        throw usage_error("HOLDFAST_CONF would change the locks that are compared: unset it");
    std::vector<std::string> known = known_names(choice), chosen;
    for (const auto &given : locks) {
        std::string name = lock_meant(given, known, choice == lock_choice::coroutines ? "coroutine lock" : "lock");
        if (!is_here(name))
            throw usage_error(fmt::format("this kernel has not what the lock '{}' needs: leave it out", name));
        if (name != all_peers || choice != lock_choice::with_peers) {
            chosen.push_back(name);
            continue;
        }
        for (const auto &peer : peer_names()) {
            if (is_here(peer))
                chosen.push_back(peer);
        }
    }
    locks = without_repeats(chosen);
}

std::vector<std::string> rotated(std::vector<std::string> locks, unsigned by) {
    std::rotate(locks.begin(), locks.begin() + static_cast<std::ptrdiff_t>(by % locks.size()), locks.end());
    return locks;
}

} // namespace holdfast::cli
