// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/cpu_set.hpp"

#include <fstream>
#include <sched.h>
#include <sstream>

namespace holdfast {
namespace {

std::optional<cpu_set> cpus_in_file(const char *path) {
    std::ifstream file(path);
    std::string list;
    if (!std::getline(file, list))
        return std::nullopt;
    return cpus_of_list(list);
}

} // namespace

cpu_set cpus_of_words(const std::uint64_t (&words)[HF_HINT_CPUS / 64]) {
    cpu_set cpus;
    for (std::size_t cpu = 0; cpu < cpus.size(); cpu++)
        cpus[cpu] = words[cpu / 64] >> cpu % 64 & 1;
    return cpus;
}

void to_words(const cpu_set &cpus, std::uint64_t (&words)[HF_HINT_CPUS / 64]) {
    for (std::uint64_t &word : words)
        word = 0;
    for (std::size_t cpu = 0; cpu < cpus.size(); cpu++)
        words[cpu / 64] |= static_cast<std::uint64_t>(cpus[cpu]) << cpu % 64;
}

std::string to_list(const cpu_set &cpus) {
    std::string list;
    for (std::size_t first = 0; first < cpus.size(); first++) {
        if (!cpus[first])
            continue;
        std::size_t last = first;
        while (last + 1 < cpus.size() && cpus[last + 1])
            last++;
        list += (list.empty() ? "" : ",") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
        first = last;
    }
    return list;
}

std::optional<cpu_set> cpus_of_list(const std::string &list) {
    cpu_set cpus;
    std::istringstream ranges(list);
    for (std::string range; std::getline(ranges, range, ',');) {
        std::istringstream text(range);
        std::size_t first = 0;
        if (!(text >> first))
            return std::nullopt;
        std::size_t last = first;
        if (text.peek() == '-' && !(text.ignore() && text >> last))
            return std::nullopt;
        if (last < first || last >= cpus.size() || text.peek() != std::istringstream::traits_type::eof())
            return std::nullopt;
        for (std::size_t cpu = first; cpu <= last; cpu++)
            cpus.set(cpu);
    }
    return cpus;
}

std::optional<cpu_set> online_cpus() {
    if (!cpus_in_file("/sys/devices/system/cpu/possible"))
        return std::nullopt;
    return cpus_in_file("/sys/devices/system/cpu/online");
}

std::optional<cpu_set> allowed_cpus(pid_t thread) {
    std::uint64_t words[HF_HINT_CPUS / 64] = {};
    static_assert(HF_HINT_CPUS == CPU_SETSIZE);
    if (sched_getaffinity(thread, sizeof(words), reinterpret_cast<cpu_set_t *>(words)) != 0)
        return std::nullopt;
    return cpus_of_words(words);
}

} // namespace holdfast
