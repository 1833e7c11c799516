// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/invoker.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "cli/common/exit_status.hpp"

namespace holdfast::cli {
namespace {

std::optional<uid_t> number(const char *text) {
    uid_t value = 0;
    const char *end = text + std::strlen(text);
    auto [stop, error] = std::from_chars(text, end, value);
    if (error != std::errc{} || stop != end)
        return std::nullopt;
    return value;
}

std::vector<gid_t> groups_of(const char *name, gid_t gid) {
    int count = 64;
    std::vector<gid_t> groups(static_cast<std::size_t>(count));
    while (getgrouplist(name, gid, groups.data(), &count) < 0)
        groups.resize(static_cast<std::size_t>(count));
    groups.resize(static_cast<std::size_t>(count));
    return groups;
}

} // namespace

std::optional<invoker> invoker_before_sudo() {
    const char *variable = std::getenv("SUDO_UID");
    if (geteuid() != 0 || !variable)
        return std::nullopt;
    std::optional<uid_t> uid = number(variable);
    if (uid && *uid == 0)
        return std::nullopt;
    const passwd *entry = uid ? getpwuid(*uid) : nullptr;
    if (!entry)
        throw failure(
            fmt::format("SUDO_UID='{}' is no user of this machine: unset it to run the program as root", variable));
    return invoker{.uid = *uid,
                   .gid = entry->pw_gid,
                   .groups = groups_of(entry->pw_name, entry->pw_gid),
                   .name = entry->pw_name,
                   .home = entry->pw_dir,
                   .shell = entry->pw_shell};
}

} // namespace holdfast::cli
