// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/running_process.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <pwd.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/symbols/process_map.hpp"
#include "cli/symbols/process_stat.hpp"
#include "cli/top/printable.hpp"

namespace holdfast::cli::top {
namespace {

libraries_mapped libraries_of(pid_t pid) {
    libraries_mapped found{.musl = runs_on_musl(pid)};
    std::ifstream maps(fmt::format("/proc/{}/maps", pid));
    for (std::string line; std::getline(maps, line);) {
        std::string_view name = std::string_view(line).substr(std::min(line.rfind('/'), line.size()));
        found.holdfasts |= name.starts_with("/libholdfast");
    }
    return found;
}

} // namespace

std::optional<running_process> running_process_of(pid_t pid) {
    struct stat owner {};
    std::optional<process_stat> found = process_stat_of(pid);
    if (!found || stat(fmt::format("/proc/{}", pid).c_str(), &owner) != 0)
        return std::nullopt;
    return running_process{.id = {.pid = pid, .started_ticks = found->started_ticks},
                           .name = printable(found->name),
                           .uid = owner.st_uid,
                           .threads = found->threads};
}

std::vector<running_process> running_processes() {
    std::vector<running_process> found;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator("/proc", error)) {
        std::string name = entry.path().filename();
        pid_t pid = 0;
        auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (bad != std::errc() || end != name.data() + name.size())
            continue;
        std::optional<running_process> process = running_process_of(pid);
        if (process && (geteuid() == 0 || process->uid == geteuid()))
            found.push_back(std::move(*process));
    }
    return found;
}

std::string user_named(uid_t uid) {
    static std::map<uid_t, std::string> known; // asking may take long, where names come over a network
    auto [place, is_new] = known.try_emplace(uid);
    if (is_new) {
        const passwd *user = getpwuid(uid);
        place->second = user ? printable(user->pw_name) : std::to_string(uid);
    }
    return place->second;
}

libraries_mapped library_detector::of(const process_id &id) {
    struct stat program {};
    if (stat(fmt::format("/proc/{}/exe", id.pid).c_str(), &program) != 0)
        return {}; // a kernel thread, or not ours to see
    auto known = found_.find(id);
    if (known == found_.end() || known->second.device != program.st_dev || known->second.inode != program.st_ino) {
        libraries_mapped libraries = libraries_of(id.pid);
        known = found_.insert_or_assign(id, finding{program.st_dev, program.st_ino, libraries, true}).first;
    }
    known->second.asked_for = true;
    return known->second.libraries;
}

void library_detector::forget_others() {
    std::erase_if(found_, [](const auto &each) { return !each.second.asked_for; });
    for (auto &[id, what] : found_)
        what.asked_for = false;
}

} // namespace holdfast::cli::top
