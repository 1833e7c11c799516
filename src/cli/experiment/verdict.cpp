// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/verdict.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/core.h>

#include "cli/experiment/usable_cpus.hpp"
#include "measure/bootstrap.hpp"
#include "measure/quantity.hpp"
#include "measure/statistics.hpp"

namespace holdfast::cli {
namespace {

constexpr unsigned rounds_enough = 7;

unsigned more_than(unsigned rounds) {
    return std::max(rounds_enough, 2 * rounds + 1);
}

} // namespace

std::string verdict_on(const std::string &lock, const std::vector<double> &ratios, unsigned rounds) {
    std::optional<double> middle = median(ratios);
    if (!middle)
        return "";
    std::string what = fmt::format("{}: {:.2f} times glibc", lock, *middle);
    std::optional<interval> within = interval_of_median(ratios);
    if (!within)
        return fmt::format("{} in {}: too few to tell: take more rounds (--rounds {})", what,
                           format_number_of(static_cast<unsigned>(ratios.size()), "round"), more_than(rounds));
    what += fmt::format(" ({:.2f} to {:.2f} in {})", within->low, within->high,
                        format_number_of(static_cast<unsigned>(ratios.size()), "round"));
    // Rounded to what is shown: 1.00 is not better.
    constexpr double shown = 0.005;
    if (within->low >= 1 + shown)
        return what + ": use it";
    if (within->high <= 1 - shown)
        return what + ": glibc's is better here";
    if (within->high - within->low < 4 * shown)
        return what + ": as good as glibc's";
    return fmt::format("{}: not distinguishable from 1: take more rounds (--rounds {})", what, more_than(rounds));
}

std::string why_machine_is_busy() {
    double load = 0;
    std::size_t cpus = usable_cpus().size();
    if (cpus == 0 || getloadavg(&load, 1) != 1)
        return "";
    // One of them may be what has just been built or tried.
    constexpr double of_a_cpu = 0.5;
    if (load < of_a_cpu * static_cast<double>(cpus) + of_a_cpu)
        return "";
    return fmt::format("this machine is busy (load {:.1f} on {}): these are not measurements", load,
                       format_number_of(static_cast<unsigned>(cpus), "CPU"));
}

} // namespace holdfast::cli
