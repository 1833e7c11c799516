// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/machine.hpp"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fstream>
#include <gnu/libc-version.h>
#include <iterator>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

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

unsigned usable_cpus() {
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) { // the kernel refuses a set that is smaller than its own
        cpu_set_t *set = CPU_ALLOC(cpus);
        std::size_t bytes = CPU_ALLOC_SIZE(cpus);
        bool known = sched_getaffinity(0, bytes, set) == 0;
        int count = known ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (known)
            return static_cast<unsigned>(count);
    }
    return static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
}

std::string command_line() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::string all;
    for (std::string argument; std::getline(file, argument, '\0');)
        all += (all.empty() ? "" : " ") + shell_quoted(argument);
    return all;
}

json about(const session &session) {
    utsname names = system_names();
    return {
        {"machine", processor_name()},
        {"cpus", usable_cpus()},
        {"kernel", fmt::format("{} {}", names.sysname, names.release)},
        {"holdfast", hf_version()},
        {"glibc", gnu_get_libc_version()},
        {"compiler", compiler()},
        {"command", command_line()},
        {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
        {"monitor", session.has_monitor() ? "present" : session.why_no_monitor()},
    };
}

} // namespace holdfast::cli
