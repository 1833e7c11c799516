// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/machine.hpp"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fstream>
#include <gnu/libc-version.h>
#include <iterator>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/thread_cpus.hpp"
#include "holdfast/holdfast.h"

namespace holdfast::cli {
namespace {

std::string compiler() {
#if defined(__clang__)
    return __VERSION__; // "Clang 16.0.6"
#else
    return std::string("GCC ") + __VERSION__;
#endif
}

utsname system_names() {
    utsname names{};
    uname(&names);
    return names;
}

std::string shell_quoted(const std::string &argument) {
    auto harmless = [](unsigned char c) {
        return std::isalnum(c) || std::string_view("@%+=:,./-_").find(c) != std::string_view::npos;
    };
    if (!argument.empty() && std::all_of(argument.begin(), argument.end(), harmless))
        return argument;
    std::string text = "'";
    for (char c : argument)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::size_t number_of_cpus() {
    std::vector<int> usable = usable_cpus();
    return usable.empty() ? static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN)) : usable.size();
}

} // namespace

std::string processor_name() {
    std::ifstream lines("/proc/cpuinfo");
    for (std::string line; std::getline(lines, line);) {
        std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos)
            return line.substr(colon + 2);
    }
    return system_names().machine; // Arm kernels name no model
}

std::string command_line() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::string all;
    for (std::string argument; std::getline(file, argument, '\0');)
        all += (all.empty() ? "" : " ") + shell_quoted(argument);
    return all;
}

json about_this_machine(const std::string &monitor) {
    utsname names = system_names();
    return {
        {"machine", processor_name()},
        {"cpus", number_of_cpus()},
        {"kernel", fmt::format("{} {}", names.sysname, names.release)},
        {"holdfast", hf_version()},
        {"glibc", gnu_get_libc_version()},
        {"compiler", compiler()},
        {"command", command_line()},
        {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
        {"monitor", monitor},
    };
}

json about(const session &session) {
    return about_this_machine(session.has_monitor() ? "present" : session.why_no_monitor());
}

} // namespace holdfast::cli
