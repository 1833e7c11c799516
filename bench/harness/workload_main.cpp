// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/workload_main.hpp"

#include <fmt/core.h>

#include "base/clock.h"
#include "harness/command_line.hpp"
#include "harness/measured_lock.hpp"
#include "harness/team_record.hpp"
#include "holdfast/uscl.h"
#include "measure/result_record.hpp"
#include "measure/workload.hpp"

namespace holdfast::bench {
namespace {

static_assert(cli::slice_us_max == HF_USCL_SLICE_US_MAX);

std::vector<option> options_of(further_options further, workload_options &options) {
    option writers{"--writers", options.writers, 1, cli::threads_max, "Number of threads that write"};
    option slice{"--slice-us", options.slice_us, 0, cli::slice_us_max, "Microseconds of a slice of u-SCL or RW-SCL"};
    option section{"--section-us", options.section_us, 0, cli::section_us_max, "Microseconds of a critical section"};
    option between{"--between-us", options.between_us, 0, cli::between_us_max,
                   "Microseconds from a release to the next request"};
    switch (further) {
    case further_options::none: break;
    case further_options::slice_and_section: return {slice, section};
    case further_options::time_between: return {between};
    case further_options::readers_and_writers: return {writers, slice, section};
    }
    return {};
}

double polls_of(const team_result &result) {
    double polls = 0;
    for (const auto &thread : result.threads)
        polls += static_cast<double>(thread.polls);
    return polls;
}

} // namespace

int workload_main(int argc, char **argv, const std::string &name,
                  const std::function<team_result(const workload_options &)> &run, further_options further) {
    const cli::workload *workload = cli::find_workload(name);
    std::string lock = "glibc"; // as of the workloads of pthreads: in-turns runs both, and calls them so
    workload_options options{nullptr, 1, 0.5};
    command_line line{
        .name = name,
        .summary = workload ? workload->summary : "",
        .options = {{"--lock", lock, {}, "glibc, default, a lock of Holdfast's, or a peer"},
                    threads_option(options.threads),
                    seconds_option(options.seconds)},
        .footer = "Prints one JSON record. 'holdfast bench' runs it for many locks and numbers of threads.",
    };
    for (const option &one : options_of(further, options))
        line.options.push_back(one);
    if (auto status = parse(line, argc, argv))
        return *status;
    try {
        options.lock = &find_lock(lock);
    } catch (const lock_left_out &error) {
        fmt::print(stderr, "{}: {}\n", name, error.what());
        return cli::exit_absent;
    } catch (const std::invalid_argument &error) {
        fmt::print(stderr, "{}: {}\n", name, error.what());
        return exit_usage;
    }

    return run_checked(name, [&] {
        if (options.slice_us >= 0)
            hf_uscl_set_default_slice(static_cast<std::uint32_t>(options.slice_us));
        hf_tick_ns(); // calibrates, before there are threads that would disturb it
        team_result result = run(options);
        cli::result_record record = make_record(name, lock, result);
        if (counts_polls(lock))
            record.spins = polls_of(result);
        if (options.between_us >= 0)
            record.between_us = options.between_us;
        if (options.slice_us >= 0)
            record.slice_us = options.slice_us;
        if (options.section_us >= 0)
            record.section_us = options.section_us;
        fmt::print("{}\n", cli::json(record).dump());
    });
}

} // namespace holdfast::bench
