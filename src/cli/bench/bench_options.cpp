// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/bench/bench_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>

#include "cli/common/exit_status.hpp"
#include "cli/common/install.hpp"
#include "cli/common/nearest_name.hpp"
#include "cli/experiment/file_digest.hpp"
#include "cli/experiment/slice_grid.hpp"
#include "measure/workload.hpp"

namespace holdfast::cli {
namespace {

void check_workload(const std::string &name) {
    if (find_workload(name))
        return;
    std::vector<std::string> known;
    for (const auto &one : workloads())
        known.emplace_back(one.name);
    throw usage_error(name.empty() ? "which workload" + or_one_of(name, known)
                                   : fmt::format("there is no workload '{}'{}", name, or_one_of(name, known)));
}

void fill_in(bench_options &options, const workload &chosen) {
    if (*chosen.locks && !options.names_locks)
        options.locks = CLI::detail::split(chosen.locks, ',');
    if (chosen.compares == lockers::coroutines && !options.names_threads)
        options.threads = {1, 2, 4, 8, 16};
    if (chosen.compares == lockers::interposed_threads && !options.names_threads)
        options.threads = {2, 4, 8, 16};
    if (takes_lengths(chosen.name) && !options.names_threads)
        options.threads = {4};
    if (is_for_two_threads(chosen.name) && !options.names_threads)
        options.threads = {2};
}

lock_choice choice_for(lockers compared) {
    switch (compared) {
    case lockers::threads: return lock_choice::with_peers;
    case lockers::interposed_threads: return lock_choice::interposed;
    case lockers::coroutines: break;
    }
    return lock_choice::coroutines;
}

void complete_lengths(bench_options &options) {
    if (takes_lengths(options.workload)) {
        options.slices_us = without_repeats(options.slices_us);
        options.sections_us = without_repeats(options.sections_us);
        return;
    }
    bool may_have_slices = takes_slices(options.workload);
    if (may_have_slices && options.names_sections)
        throw usage_error(fmt::format("'{}' has sections of one length: leave --sections-us out, or use scl-slice",
                                      options.workload));
    if (!may_have_slices && (options.names_slices || options.names_sections))
        throw usage_error(fmt::format("'{}' has slices and sections of one length: leave --slices-us and --sections-us "
                                      "out, or use scl-slice",
                                      options.workload));
    options.sections_us.clear();
    options.slices_us = options.names_slices ? without_repeats(options.slices_us) : std::vector<unsigned>{};
}

} // namespace

void complete(bench_options &options) {
    check_workload(options.workload);
    const workload &chosen = *find_workload(options.workload);
    fill_in(options, chosen);
    check_locks(options.locks, choice_for(chosen.compares));
    options.threads = without_repeats(options.threads);
    if (options.between_us && !takes_time_between(options.workload))
        throw usage_error(fmt::format("'{}' has a time between sections of its own: leave --between-us out, or use "
                                      "shared-memory",
                                      options.workload));
    complete_lengths(options);
}

json options_for_file(const bench_options &options) {
    json noted = {{"workload", options.workload},
                  {"locks", options.locks},
                  {"threads", options.threads},
                  {"seconds", options.seconds},
                  {"rounds", options.rounds},
                  {"background", options.background},
                  {"between_us", nullptr},
                  {"arguments", options.arguments},
                  {"build", digest_of(workload_program(options.workload))}};
    if (find_workload(options.workload)->compares == lockers::interposed_threads)
        noted["interposer"] = digest_of(preload_library());
    if (options.between_us)
        noted["between_us"] = *options.between_us;
    if (!options.slices_us.empty())
        noted["slices_us"] = options.slices_us;
    if (!options.sections_us.empty())
        noted["sections_us"] = options.sections_us;
    return noted;
}

std::vector<cell> cells_of_round(const bench_options &options, unsigned round) {
    std::vector<contender> contenders = contenders_of(options.locks, options.slices_us);
    auto first = static_cast<std::ptrdiff_t>((round - 1) % contenders.size());
    std::rotate(contenders.begin(), contenders.begin() + first, contenders.end());
    std::vector<std::optional<double>> sections(options.sections_us.begin(), options.sections_us.end());
    if (sections.empty())
        sections.emplace_back();
    std::vector<cell> cells;
    for (unsigned threads : options.threads) {
        for (auto section_us : sections) {
            for (const contender &one : contenders)
                cells.push_back({one.lock, threads, round, one.slice_us, section_us});
        }
    }
    return cells;
}

} // namespace holdfast::cli
