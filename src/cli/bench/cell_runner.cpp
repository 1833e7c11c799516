// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/bench/cell_runner.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <utility>

#include "cli/bench/line_transfer.hpp"
#include "cli/common/install.hpp"
#include "cli/start/background_load.hpp"
#include "measure/quantity.hpp"
#include "measure/workload.hpp"

namespace holdfast::cli {
namespace {

// What the program says of itself when it went well; the harness's own view of it otherwise.
void judge(const process_end &end, cell_result &result) {
    result_record &record = result.record;
    if (std::optional<json> printed = record_printed(end, result)) {
        result_record placed = record;
        record = printed->get<result_record>();
        record.round = placed.round;
        record.background = placed.background;
        record.arguments = placed.arguments;
        record.line_ns = placed.line_ns;
    } else if (record.status != cell_status::absent) {
        record.cpu_s = end.cpu_s;
        record.context_switches = end.context_switches;
    }
}

} // namespace

std::string cell::label() const {
    std::string lengths;
    if (slice_us)
        lengths += fmt::format(", slices of {} us", *slice_us);
    if (section_us)
        lengths += fmt::format(", sections of {} us", *section_us);
    return fmt::format("{}, {}{}, round {}", lock, format_number_of(threads, "thread"), lengths, round);
}

cell_runner::cell_runner(settings chosen, const interruption &interrupted)
    : settings_(std::move(chosen)), interrupted_(interrupted),
      workload_path_(workload_program(settings_.workload).string()) {}

std::optional<cell_result> cell_runner::run(const cell &one) const {
    std::optional<double> line_ns = line_transfer_ns(); // before anything else runs
    background_load background(settings_.background, interrupted_);
    if (!background.runs())
        return std::nullopt;
    std::vector<std::string> command{workload_path_,
                                     "--lock",
                                     one.lock,
                                     "--threads",
                                     std::to_string(one.threads),
                                     "--seconds",
                                     fmt::format("{}", settings_.seconds)};
    if (settings_.between_us)
        command.insert(command.end(), {"--between-us", fmt::format("{}", *settings_.between_us)});
    if (one.slice_us)
        command.insert(command.end(), {"--slice-us", fmt::format("{}", *one.slice_us)});
    if (one.section_us)
        command.insert(command.end(), {"--section-us", fmt::format("{}", *one.section_us)});
    command.insert(command.end(), settings_.arguments.begin(), settings_.arguments.end());
    process workload(program{command, settings_.environments.at(one.lock)});
    // It warms up for as long as it measures, at most.
    process_end end =
        workload.wait(std::chrono::duration<double>(2 * settings_.seconds + settings_.patience_s), &interrupted_);
    if (end.why == process_end::cause::interrupted)
        return std::nullopt;

    cell_result result;
    result.record.workload = settings_.workload;
    result.record.lock = one.lock;
    result.record.threads = one.threads;
    result.record.background = settings_.background;
    result.record.round = one.round;
    result.record.arguments = fmt::format("{}", fmt::join(settings_.arguments, " "));
    result.record.line_ns = line_ns;
    result.record.between_us = settings_.between_us;
    result.record.slice_us = one.slice_us;
    result.record.section_us = one.section_us;
    judge(end, result);
    return result;
}

} // namespace holdfast::cli
