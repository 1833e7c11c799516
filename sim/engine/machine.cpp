// SPDX-License-Identifier: MIT OR Apache-2.0
#include "engine/machine.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace holdfast::sim {

const std::vector<machine_number> &machine_numbers() {
    static const std::vector<machine_number> all = {
        {"cpus", &machine::cpus},
        {"sockets", &machine::sockets},
        {"complexes", &machine::complexes},
        {"hit_ns", &machine::hit_ns},
        {"rmw_ns", &machine::rmw_ns},
        {"transfer_complex_ns", &machine::transfer_complex_ns},
        {"transfer_socket_ns", &machine::transfer_socket_ns},
        {"transfer_remote_ns", &machine::transfer_remote_ns},
        {"memory_ns", &machine::memory_ns},
        {"travel_share", &machine::travel_share},
        {"load_takes", &machine::load_takes},
        {"window_ns", &machine::window_ns},
        {"shared_read_ns", &machine::shared_read_ns},
        {"pause_ns", &machine::pause_ns},
        {"ticks_ns", &machine::ticks_ns},
        {"clock_ns", &machine::clock_ns},
        {"call_ns", &machine::call_ns},
        {"wake_call_ns", &machine::wake_call_ns},
        {"wake_ns", &machine::wake_ns},
        {"bucket_ns", &machine::bucket_ns},
        {"switch_ns", &machine::switch_ns},
        {"idle_exit_ns", &machine::idle_exit_ns},
        {"interrupt_ns", &machine::interrupt_ns},
        {"slice_ns", &machine::slice_ns},
        {"tick_ns", &machine::tick_ns},
        {"wake_preempts_ns", &machine::wake_preempts_ns},
        {"timer_slack_ns", &machine::timer_slack_ns},
        {"jitter", &machine::jitter},
        {"stolen_every_ns", &machine::stolen_every_ns, true},
        {"stolen_ns", &machine::stolen_ns, true},
        {"interrupts_every_ns", &machine::interrupts_every_ns, true},
        {"interrupts_last_ns", &machine::interrupts_last_ns, true},
        {"quota_ns", &machine::quota_ns, true},
        {"quota_period_ns", &machine::quota_period_ns, true},
    };
    return all;
}

namespace {

constexpr double cpus_max = 512;

const machine_number *find(const std::string &name) {
    const auto &all = machine_numbers();
    auto found = std::find_if(all.begin(), all.end(), [&](const auto &one) { return name == one.name; });
    return found == all.end() ? nullptr : &*found;
}

void check(const machine &one) {
    bool is_split = one.cpus >= one.complexes && one.complexes >= one.sockets && one.sockets >= 1;
    if (!is_split || one.cpus > cpus_max)
        throw std::invalid_argument(fmt::format(
            "machine '{}': CPUs are 1 to {}, at least as many as complexes, and these as sockets", one.name, cpus_max));
}

} // namespace

machine read_machine(const std::string &path) {
    std::ifstream file(path);
    if (!file)
        throw std::invalid_argument(fmt::format("can't read '{}': name a machine of sim/machines, or a file", path));
    machine result;
    result.name = std::filesystem::path(path).stem();
    std::set<std::string> seen;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        number++;
        std::istringstream words(line.substr(0, line.find('#')));
        std::string name;
        if (!(words >> name))
            continue;
        const machine_number *known = find(name);
        double value = 0;
        if (!known || !(words >> value) || value < 0 || !seen.insert(name).second)
            throw std::invalid_argument(
                fmt::format("{}:{}: a name that is known, and there once, and a number: '{}'", path, number, line));
        result.*known->member = value;
    }
    for (const auto &one : machine_numbers()) {
        if (!one.may_be_missing && !seen.contains(one.name))
            throw std::invalid_argument(fmt::format("{}: '{}' is missing", path, one.name));
    }
    check(result);
    return result;
}

void change_machine(machine &of, const std::string &change) {
    auto at = change.find_first_of("=*");
    const machine_number *known = find(change.substr(0, at));
    if (at == std::string::npos || !known)
        throw std::invalid_argument(fmt::format("'{}': want NAME=VALUE or NAME*FACTOR, of a machine's file", change));
    double value = 0;
    try {
        value = std::stod(change.substr(at + 1));
    } catch (const std::logic_error &) {
        throw std::invalid_argument(fmt::format("'{}': there is no number behind the {}", change, change[at]));
    }
    double &member = of.*known->member;
    member = change[at] == '*' ? member * value : value;
    check(of);
}

std::string machine::described() const {
    return fmt::format("{}: {} CPUs in {} complexes on {} sockets", name, cpus, complexes, sockets);
}

} // namespace holdfast::sim
