// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/workload_main.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "base/clock.h"
#include "harness/command_line.hpp"
#include "harness/measured_lock.hpp"
#include "harness/team_options.hpp"
#include "harness/team_record.hpp"
#include "holdfast/uscl.h"
#include "measure/number_range.hpp"
#include "measure/result_record.hpp"
#include "measure/workload.hpp"

namespace holdfast::bench {
namespace {

static_assert(cli::slice_us_max == HF_USCL_SLICE_US_MAX);

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
    CLI::App app{workload ? workload->summary : "", name};
    app.footer("Prints one JSON record. 'holdfast bench' runs it for many locks and numbers of threads.");
    std::string lock = "glibc"; // as of the workloads of pthreads: in-turns runs both, and calls them so
    workload_options options{nullptr, 1, 0.5};
    app.add_option("--lock", lock, "glibc, default, a lock of Holdfast's, or a peer")->capture_default_str();
    add_team_options(app, options.threads, options.seconds);
    if (further == further_options::readers_and_writers)
        app.add_option("--writers", options.writers, "Number of threads that write")
            ->check(cli::from_to(1u, cli::threads_max))
            ->capture_default_str();
    if (further == further_options::slice_and_section || further == further_options::readers_and_writers) {
        app.add_option("--slice-us", options.slice_us, "Microseconds of a slice of u-SCL or RW-SCL")
            ->check(cli::from_to(0.0, double(cli::slice_us_max)));
        app.add_option("--section-us", options.section_us, "Microseconds of a critical section")
            ->check(cli::from_to(0.0, cli::section_us_max));
    }
    if (further == further_options::time_between)
        app.add_option("--between-us", options.between_us, "Microseconds from a release to the next request")
            ->check(cli::from_to(0.0, cli::between_us_max));
    if (auto status = parse(app, argc, argv))
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
