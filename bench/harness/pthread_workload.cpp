// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/pthread_workload.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "base/clock.h"
#include "harness/command_line.hpp"
#include "harness/team_record.hpp"
#include "measure/workload.hpp"

namespace holdfast::bench {
namespace {

void turn(std::uint64_t turns) noexcept {
    for (std::uint64_t done = 0; done < turns; done++)
        asm volatile("" ::: "memory");
}

// The fastest of many short runs is the one that nothing disturbed, however busy the machine is.
double measure_turns_per_us() {
    constexpr std::uint64_t turns = 50'000;
    constexpr int attempts = 60;
    std::uint64_t least_ns = UINT64_MAX;
    for (int attempt = 0; attempt < attempts; attempt++) {
        std::uint64_t began_ns = hf_monotonic_ns();
        turn(turns);
        least_ns = std::min(least_ns, hf_monotonic_ns() - began_ns);
    }
    return 1000.0 * static_cast<double>(turns) / static_cast<double>(std::max<std::uint64_t>(least_ns, 1));
}

double turns_per_us = 0; // set before there are threads

} // namespace

void use_cpu(double us) {
    turn(static_cast<std::uint64_t>(us * turns_per_us));
}

int pthread_workload_main(int argc, char **argv, const pthread_workload &what) {
    const cli::workload *known = cli::find_workload(what.name);
    std::string lock = "glibc";
    pthread_workload_options options{.work_us = what.usual_work_us};
    command_line line{
        .name = what.name,
        .summary = known ? known->summary : "",
        .options = {{"--lock", lock, {}, "What the record calls the locks: they are whatever pthread's are here"},
                    threads_option(options.threads),
                    seconds_option(options.seconds),
                    {"--work-us", options.work_us, 0, cli::section_us_max, what.work_help}},
        .footer = "Prints one JSON record. 'holdfast bench' runs it for many locks and numbers of threads.",
    };
    if (auto status = parse(line, argc, argv))
        return *status;
    return run_checked(what.name, [&] {
        hf_tick_ns(); // calibrates, before there are threads that would disturb it
        turns_per_us = measure_turns_per_us();
        cli::result_record record = make_record(what.name, lock, what.run(options));
        fmt::print("{}\n", cli::json(record).dump());
    });
}

} // namespace holdfast::bench
