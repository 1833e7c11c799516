// SPDX-License-Identifier: MIT OR Apache-2.0
#include "node_map.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

namespace holdfast::coro {
namespace {

bool read_number(std::string_view text, unsigned &number) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

// The kernel's lists: "0-3,8-11". What can't be read is no CPU.
std::vector<unsigned> usable_of_list(const std::string &text, const cpu_set_t &usable) {
    std::vector<unsigned> cpus;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        std::size_t dash = part.find('-');
        unsigned first = 0, last = 0;
        if (!read_number(std::string_view(part).substr(0, dash), first))
            continue;
        last = first;
        if (dash != std::string::npos && !read_number(std::string_view(part).substr(dash + 1), last))
            continue;
        for (unsigned cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &usable))
                cpus.push_back(cpu);
    }
    return cpus;
}

std::string first_line(const std::filesystem::path &file) {
    std::ifstream from(file);
    std::string line;
    std::getline(from, line);
    return line;
}

// By number: a machine may have node 0 and node 2. The distances of each are in the order of the numbers.
std::map<unsigned, std::filesystem::path> node_directories(const std::filesystem::path &directory) {
    std::map<unsigned, std::filesystem::path> found;
    std::error_code error;
    std::filesystem::directory_iterator entries(directory, error), end;
    for (; !error && entries != end; entries.increment(error)) {
        std::string name = entries->path().filename();
        if (unsigned number = 0; name.starts_with("node") && read_number(std::string_view(name).substr(4), number))
            found[number] = entries->path();
    }
    return found;
}

} // namespace

node_map node_map::read(const cpu_set_t &usable, const std::filesystem::path &directory) {
    std::vector<memory_node> all;
    for (const auto &[number, path] : node_directories(directory)) {
        memory_node &node = all.emplace_back();
        node.cpus = usable_of_list(first_line(path / "cpulist"), usable);
        std::istringstream distances(first_line(path / "distance"));
        for (unsigned distance = 0; distances >> distance;)
            node.distances.push_back(distance);
    }
    node_map map;
    for (const memory_node &node : all) {
        if (node.cpus.empty())
            continue;
        memory_node kept{node.cpus, {}};
        for (std::size_t i = 0; i < all.size(); i++)
            if (!all[i].cpus.empty())
                kept.distances.push_back(i < node.distances.size() ? node.distances[i] : 0);
        map.nodes_.push_back(std::move(kept));
    }
    return map;
}

std::vector<std::size_t> node_map::homes(std::size_t workers) const {
    std::vector<std::size_t> by_cpu;
    for (std::size_t node = 0; node < nodes_.size(); node++)
        by_cpu.insert(by_cpu.end(), nodes_[node].cpus.size(), node);
    if (nodes_.size() < 2 || workers < by_cpu.size())
        return {};
    std::vector<std::size_t> homes(workers);
    for (std::size_t i = 0; i < workers; i++)
        homes[i] = by_cpu[i % by_cpu.size()];
    return homes;
}

std::vector<std::size_t> node_map::victims(std::size_t me, std::size_t workers,
                                           const std::vector<std::size_t> &homes) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 1; i < workers; i++)
        order.push_back((me + i) % workers);
    if (!homes.empty())
        std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
            const std::vector<unsigned> &distances = nodes_[homes[me]].distances;
            return distances[homes[one]] < distances[homes[other]];
        });
    return order;
}

} // namespace holdfast::coro
