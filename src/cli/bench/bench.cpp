// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast bench: a workload under several locks and numbers of threads, in interleaved rounds.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "cli/bench/bench_options.hpp"
#include "cli/bench/bench_picture.hpp"
#include "cli/bench/cell_runner.hpp"
#include "cli/common/exit_status.hpp"
#include "cli/common/interruption.hpp"
#include "cli/common/options.hpp"
#include "cli/common/output_file.hpp"
#include "cli/common/progress.hpp"
#include "cli/common/say.hpp"
#include "cli/draw/picture_file.hpp"
#include "cli/experiment/cell_rows.hpp"
#include "cli/experiment/cell_summary.hpp"
#include "cli/experiment/machine.hpp"
#include "cli/experiment/record_file.hpp"
#include "cli/experiment/slice_grid.hpp"
#include "cli/experiment/verdict.hpp"
#include "cli/start/background_load.hpp"
#include "cli/start/ending.hpp"
#include "cli/start/session.hpp"
#include "cli/verbs.hpp"
#include "measure/statistics.hpp"
#include "measure/table.hpp"
#include "measure/workload.hpp"

namespace holdfast::cli {
namespace {

int list_workloads() {
    for (const auto &one : workloads())
        fmt::print("{:<18}  {}\n", one.name, one.summary);
    return exit_ok;
}

// From here on the CPUs' distance has changed: where it stays, medians of batches differ by a tenth.
constexpr double line_change_max = 1.5;

class bench_run {
public:
    explicit bench_run(bench_options options) : options_(std::move(options)), picture_(options_.plot_path) {
        bool resumes = !options_.resume_path.empty();
        bool is_new = resumes && !std::filesystem::exists(options_.resume_path);
        if (resumes)
            json_file_.emplace(record_file::resuming(options_.resume_path));
        else if (!options_.json_path.empty())
            json_file_.emplace(record_file::at(options_.json_path));
        if (!options_.csv_path.empty())
            csv_file_.emplace(options_.csv_path);
        if (!options_.markdown_path.empty())
            markdown_file_.emplace(options_.markdown_path);
        if (is_new)
            say("holdfast: '{}' is not there yet: all cells are measured\n", options_.resume_path);
    }

    ending run() {
        busy_ = why_machine_is_busy();
        session monitored;
        about_ = about(monitored);
        about_["options"] = options_for_file(options_);
        if (json_file_)
            go_on();
        interruption interrupted;
        cell_runner runner({options_.workload, options_.seconds, options_.background, options_.between_us,
                            options_.patience_s, environments(monitored), options_.arguments},
                           interrupted);
        try {
            measure(runner, interrupted);
        } catch (const failure &) {
            show_tables(); // what was measured is not lost with what could not be
            throw;
        }
        if (busy_.empty()) // others may have begun meanwhile
            busy_ = why_machine_is_busy();
        if (!busy_.empty())
            about_["busy"] = busy_;
        if (json_file_)
            json_file_->note("busy", busy_);
        show_tables();
        show_files();
        if (!busy_.empty())
            fmt::print("{}: try again when it is not\n", busy_);
        if (interrupted.requested()) {
            say("holdfast: interrupted after {} of {} cells{}\n", records_.size(), cell_count(),
                how_to_go_on(json_file_));
            return ending::by_signal(interrupted.signal());
        }
        bool all_ok = std::all_of(records_.begin(), records_.end(), [](const auto &one) {
            return one.status == cell_status::ok || one.status == cell_status::absent;
        });
        return all_ok ? exit_ok : exit_some_failed;
    }

private:
    std::size_t cell_count() const { return cells_of_round(options_, 1).size() * options_.rounds; }

    // What each lock's cells run with.
    std::map<std::string, environment> environments(const session &monitored) const {
        bool under_interposer = find_workload(options_.workload)->compares == lockers::interposed_threads;
        std::map<std::string, environment> by_lock;
        for (const auto &lock : options_.locks)
            by_lock[lock] = under_interposer ? monitored.preload_environment(interposition_of(lock))
                                             : monitored.native_environment();
        return by_lock;
    }

    void go_on() {
        records_ = json_file_->go_on<result_record>(about_, cell_count(), "cells");
        for (const auto &one : records_)
            measured_.insert({one.lock, one.threads, one.round, one.slice_us, one.section_us});
    }

    void measure(const cell_runner &runner, const interruption &interrupted) {
        progress bar(cell_count() - std::min(cell_count(), records_.size()));
        for (unsigned round = 1; round <= options_.rounds; round++) {
            for (const cell &one : cells_of_round(options_, round)) {
                if (measured_.contains({one.lock, one.threads, one.round, one.slice_us, one.section_us}))
                    continue;
                if (interrupted.requested() || !measure_cell(runner, one, bar))
                    return;
            }
        }
    }

    // False when interrupted.
    bool measure_cell(const cell_runner &runner, const cell &one, progress &bar) {
        bar.begin(one.label());
        std::optional<cell_result> result = runner.run(one);
        if (!result)
            return false;
        records_.push_back(result->record);
        if (json_file_)
            json_file_->add(result->record);
        if (result->record.status == cell_status::absent) {
            if (absent_.insert(one.lock).second) {
                bar.clear();
                say("holdfast: {}\n", result->reason);
            }
        } else if (result->record.status != cell_status::ok) {
            bar.clear();
            say("holdfast: {}: {} {}\n", one.label(), options_.workload, result->reason);
        }
        bar.end();
        return true;
    }

    // A line of text, or two, on how far apart the CPUs were.
    static std::string line_transfers(const std::vector<result_record> &records) {
        std::vector<double> all_ns;
        for (const auto &one : records) {
            if (one.line_ns)
                all_ns.push_back(*one.line_ns);
        }
        if (all_ns.empty())
            return "";
        auto [nearest, farthest] = std::minmax_element(all_ns.begin(), all_ns.end());
        bool moved = *farthest > line_change_max * *nearest;
        return fmt::format("cache line from CPU to CPU: {:.0f} ns ({:.0f} to {:.0f}){}\n", *median(all_ns), *nearest,
                           *farthest,
                           moved ? "; the CPUs moved meanwhile: trust the ratios within a round, not the medians" : "");
    }

    void show_tables() const {
        if (records_.empty())
            return;
        fmt::print("{}; {}; {} s a cell{}\nmonitor: {}\n{}\n", options_.workload, machine_in(about_), options_.seconds,
                   background_phrase(options_.background), about_.at("monitor").get<std::string>(),
                   line_transfers(records_));
        if (options_.sections_us.empty()) {
            std::vector<std::string> names;
            for (const contender &one : contenders_of(options_.locks, options_.slices_us))
                names.push_back(one.label());
            bool are_apart = !options_.slices_us.empty();
            fmt::print("{}", cell_tables(are_apart ? named_by_contender(records_) : records_, names, options_.threads));
            return;
        }
        slice_grid grid{contenders_of(options_.locks, options_.slices_us), options_.sections_us, options_.threads};
        for (const grid_table &one : grid.tables(records_)) {
            table shown(one.header);
            for (const auto &row : one.rows)
                shown.add_row(row);
            fmt::print("{}\n{}\n", one.title, shown.text());
        }
    }

    void show_files() const {
        if (records_.empty())
            return;
        if (json_file_) {
            json_file_->finish();
            fmt::print("Records: {}\n", json_file_->name());
        }
        write_rows(csv_file_, table_form::csv);
        write_rows(markdown_file_, table_form::markdown);
        picture_.write([this](picture_format format) { return bench_picture(options_, records_, about_, format); });
    }

    void write_rows(const std::optional<output_file> &file, table_form form) const {
        if (!file)
            return;
        file->write(cell_rows(records_, contenders_of(options_.locks, options_.slices_us), options_.threads,
                              options_.sections_us, form));
    }

    bench_options options_;
    std::optional<record_file> json_file_;
    std::optional<output_file> csv_file_, markdown_file_;
    picture_file picture_;
    std::string busy_; // why these are no measurements; empty: they are
    json about_;
    std::vector<result_record> records_;
    std::set<std::string> absent_; // of which it has been said
    // Before this run: lock, threads, round, lengths.
    std::set<std::tuple<std::string, unsigned, unsigned, std::optional<double>, std::optional<double>>> measured_;
};

ending bench(bench_options options) {
    if (options.list)
        return list_workloads();
    complete(options);
    return bench_run(std::move(options)).run();
}

} // namespace

void fit_help_to_workload(CLI::App &bench_verb) {
    const CLI::Option *named = bench_verb.get_option("workload");
    const workload *chosen = named->results().empty() ? nullptr : find_workload(named->results().front());
    if (!chosen)
        return;
    CLI::Option *locks = bench_verb.get_option("--locks");
    if (*chosen->locks)
        locks->default_str(chosen->locks);
    if (chosen->compares == lockers::coroutines) {
        locks->description(
            fmt::format("Coroutine locks, separated by commas, of {}", fmt::join(coro_lock_names(), ", ")));
        bench_verb.get_option("--threads")->default_str("1,2,4,8,16");
    }
}

void add_bench(CLI::App &app, action &chosen) {
    auto options = std::make_shared<bench_options>();
    CLI::App *verb = app.add_subcommand("bench", "Measure locks with a workload of Holdfast's");
    verb->add_option("workload", options->workload, "Which workload: see --list")->type_name("WORKLOAD");
    verb->add_option("arguments", options->arguments, "After --: what the workload's program is told besides")
        ->type_name("ARGUMENT");
    verb->add_flag("--list", options->list, "List the workloads");
    add_locks_option(*verb, options->locks, lock_choice::with_peers);
    add_numbers(*verb, "--threads", options->threads, "Numbers of threads, separated by commas",
                {"N,N,...", 1u, threads_max});
    add_number(*verb, "--seconds", options->seconds, "How long a cell (a lock, a number of threads) is measured",
               {"S", seconds_min, seconds_max});
    add_number(*verb, "--rounds", options->rounds, "How often each cell is measured; figures are medians",
               {"N", 1u, rounds_max});
    add_number(*verb, "--background", options->background, "Busy threads of another process beside each cell",
               {"N", 0u, threads_max});
    add_number(*verb, "--between-us", options->between_us,
               "shared-memory: microseconds from a release to the next request", {"US", 0.0, between_us_max});
    add_numbers(*verb, "--slices-us", options->slices_us,
                "scl-slice, scl-interactive: lengths of slices, in microseconds", {"US,...", 0u, slice_us_max});
    add_numbers(*verb, "--sections-us", options->sections_us,
                "scl-slice: lengths of critical sections, in microseconds", {"US,...", 0.0, section_us_max});
    add_number(*verb, "--timeout", options->patience_s, "How long a cell may take beyond its warm-up and --seconds",
               {"S", seconds_min, seconds_max});
    CLI::Option *json_option =
        add_file(*verb, "--json", options->json_path, "Write all records there, after every cell");
    add_file(*verb, "--resume", options->resume_path,
             "As --json, but go on with what is there: cells that it has are not measured again")
        ->excludes(json_option);
    add_file(*verb, "--csv", options->csv_path, "Write a row for each cell there, as comma-separated values");
    add_file(*verb, "--markdown", options->markdown_path, "The same, as Markdown");
    add_file(*verb, "--plot", options->plot_path,
             "Draw throughput over threads, or what the workload is about: a .svg or .png file (needs gnuplot)");
    verb->footer("Exit status: 0; 1 when a cell timed out, crashed or failed; 2 when the command line is wrong;\n"
                 "125 when holdfast failed; interrupted, by the signal (what was measured is shown and kept).\n"
                 "Example:\n"
                 "  holdfast bench shared-memory --locks glibc,flexguard,mcs --threads 1,2,4,8,16 --plot locks.png\n"
                 "  holdfast bench coro-mutex --locks ces,dispatch,go --threads 2,4 -- --bystanders 32");
    verb->callback([options, verb, &chosen] {
        options->names_locks = verb->count("--locks") > 0;
        options->names_threads = verb->count("--threads") > 0;
        options->names_slices = verb->count("--slices-us") > 0;
        options->names_sections = verb->count("--sections-us") > 0;
        chosen = [options] { return bench(*options); };
    });
}

} // namespace holdfast::cli
