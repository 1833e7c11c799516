// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/verdict.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/core.h>
#include <fstream>
#include <thread>

#include "base/thread_cpus.hpp"
#include "measure/bootstrap.hpp"
#include "measure/quantity.hpp"
#include "measure/statistics.hpp"

namespace holdfast::cli {
namespace {

constexpr unsigned rounds_enough = 7;
// With fewer all of them are on one side by chance in more than one of 20 measurements, whatever the interval says.
constexpr std::size_t rounds_that_tell = 6;

unsigned more_than(unsigned rounds) {
    return std::max(rounds_enough, 2 * rounds + 1);
}

// Threads that run or want to, but for the caller, in the mean over a tenth of a second. Not the load average: what was
// built or measured a minute ago is in that.
double others_running() {
    constexpr unsigned looks = 20;
    constexpr std::chrono::milliseconds apart(5);
    double sum = 0;
    for (unsigned look = 0; look < looks; look++) {
        std::ifstream file("/proc/loadavg");
        std::string averages;
        unsigned running = 0;
        for (int i = 0; i < 3; i++)
            file >> averages;
        if (!(file >> running)) // a fourth one: running/all
            return 0;
        sum += running - std::min(running, 1U);
        std::this_thread::sleep_for(apart);
    }
    return sum / looks;
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
    bool is_better = within->low >= 1 + shown, is_worse = within->high <= 1 - shown;
    if ((is_better || is_worse) && ratios.size() < rounds_that_tell)
        return fmt::format("{}: {} in each, as by chance in one of {} measurements: take more rounds (--rounds {})",
                           what, is_better ? "better" : "worse", 1 << ratios.size(), more_than(rounds));
    if (is_better)
        return what + ": use it";
    if (is_worse)
        return what + ": glibc's is better here";
    if (within->high - within->low < 4 * shown)
        return what + ": as good as glibc's";
    return fmt::format("{}: not distinguishable from 1: take more rounds (--rounds {})", what, more_than(rounds));
}

std::string why_machine_is_busy() {
    double load = others_running();
    std::size_t cpus = usable_cpus().size();
    constexpr double of_a_cpu = 0.25;
    if (cpus == 0 || load < of_a_cpu * static_cast<double>(cpus))
        return "";
    return fmt::format("this machine is busy (load {:.1f} on {}): these are not measurements", load,
                       format_number_of(static_cast<unsigned>(cpus), "CPU"));
}

} // namespace holdfast::cli
