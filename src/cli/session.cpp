// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/session.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <system_error>

#include "cli/exit_status.hpp"
#include "cli/install.hpp"
#include "hint/registration.h"
#include "lock/lock_table.h"

namespace holdfast::cli {
namespace {

// Ours goes first, so that it is found before whatever the user preloads; both work.
std::string preload_with(const std::string &library) {
    const char *before = std::getenv("LD_PRELOAD");
    return before && *before ? library + ":" + before : library;
}

} // namespace

session::session() {
    try {
        monitor_ = std::make_unique<monitor>();
    } catch (const monitor_unavailable &unavailable) {
        why_no_monitor_ = unavailable.what();
    }
    server_ = std::make_unique<monitor_server>(monitor_.get());
}

environment session::native_environment() const {
    return {{HF_SOCKET_VARIABLE, server_->socket_name()}};
}

environment session::preload_environment(const std::string &lock, bool stats) const {
    if (lock == "glibc")
        return {};
    environment variables = native_environment();
    variables.emplace_back("LD_PRELOAD", preload_with(preload_library().string()));
    variables.emplace_back("HOLDFAST_LOCK", lock);
    if (stats)
        variables.emplace_back(HF_STATS_VARIABLE, "1");
    return variables;
}

std::vector<std::string> lock_names() {
    std::vector<std::string> names{"glibc", "default"};
    for (std::size_t i = 0; i < hf_lock_kind_count; i++)
        names.emplace_back(hf_lock_kinds[i].name);
    return names;
}

void check_lock_name(const std::string &name) {
    for (const auto &known : lock_names()) {
        if (name == known)
            return;
    }
    throw usage_error(fmt::format("there is no lock '{}': use one of {}", name, fmt::join(lock_names(), ", ")));
}

} // namespace holdfast::cli
