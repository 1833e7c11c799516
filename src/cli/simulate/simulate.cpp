// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast simulate: what `holdfast bench` does, on a machine that need not be there. Each cell is a run of
// libexec/holdfast/simulate; rounds differ by the seed of all chance.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <optional>

#include "cli/common/exit_status.hpp"
#include "cli/common/install.hpp"
#include "cli/common/interruption.hpp"
#include "cli/common/nearest_name.hpp"
#include "cli/common/not_empty.hpp"
#include "cli/common/options.hpp"
#include "cli/common/progress.hpp"
#include "cli/common/say.hpp"
#include "cli/draw/picture_file.hpp"
#include "cli/experiment/cell_result.hpp"
#include "cli/experiment/cell_summary.hpp"
#include "cli/experiment/file_digest.hpp"
#include "cli/experiment/machine.hpp"
#include "cli/experiment/measured_locks.hpp"
#include "cli/experiment/record_file.hpp"
#include "cli/experiment/throughput_plot.hpp"
#include "cli/start/background_load.hpp"
#include "cli/start/ending.hpp"
#include "cli/start/process.hpp"
#include "cli/verbs.hpp"
#include "measure/quantity.hpp"
#include "measure/workload.hpp"

namespace holdfast::cli {
namespace {

constexpr double virtual_seconds_max = 100;
constexpr unsigned simulated_threads_max = 4096;

struct simulate_options {
    bool list = false;
    std::string workload, machine;
    std::vector<std::string> changes; // of its numbers
    std::vector<std::string> locks = every_lock();
    std::vector<unsigned> threads;
    double seconds = 0.02;
    unsigned rounds = 1;
    std::uint64_t seed = 1;
    unsigned background = 0;
    std::optional<double> between_us, section_us, work_us;
    bool no_monitor = false;
    double patience_s = 600;
    std::string json_path, plot_path, trace_path;
};

std::string path_of_machine(const std::string &name) {
    if (name.find('/') == std::string::npos) {
        if (auto known = machine_file(name); !known.empty())
            return known;
    }
    std::error_code ignored;
    if (std::filesystem::exists(name, ignored))
        return name;
    throw usage_error(fmt::format("there is no machine '{}'{}, or a file", name, or_one_of(name, machine_names())));
}

class simulate_run {
public:
    simulate_run(simulate_options options, const interruption &interrupted)
        : options_(std::move(options)), interrupted_(interrupted), program_(workload_program("simulate")),
          machine_path_(path_of_machine(options_.machine)), picture_(options_.plot_path) {
        describe();
        complete();
        if (!options_.json_path.empty())
            json_file_.emplace(record_file::at(options_.json_path));
    }

    ending run() {
        if (json_file_)
            json_file_->go_on<result_record>(about_, cell_count(), "cells");
        simulate_all();
        show();
        if (interrupted_.requested()) {
            say("holdfast: interrupted after {} of {} cells\n", records_.size(), cell_count());
            return ending::by_signal(interrupted_.signal());
        }
        bool all_ok = std::all_of(records_.begin(), records_.end(),
                                  [](const auto &one) { return one.status == cell_status::ok; });
        return all_ok ? exit_ok : exit_some_failed;
    }

private:
    std::vector<std::string> command() const {
        std::vector<std::string> words{program_, "--workload", options_.workload, "--machine", machine_path_};
        for (const auto &change : options_.changes)
            words.insert(words.end(), {"--set", change});
        return words;
    }

    // What the program will simulate; or why it will not.
    void describe() {
        std::vector<std::string> words = command();
        words.emplace_back("--describe");
        process_end end = process(program{words, {}}).wait(std::nullopt, &interrupted_);
        if (end.why == process_end::cause::exited && end.number == exit_usage)
            throw usage_error(last_line(end.errors));
        if (!end.succeeded())
            throw failure("the simulator " + end.sentence());
        simulated_ = json::parse(end.output);
        about_ = about_this_machine("simulated, as it is under Holdfast's service");
        if (options_.no_monitor)
            about_["monitor"] = "none: --no-monitor";
        about_["machine"] = "simulated: " + simulated_.at("described").get<std::string>();
        about_["cpus"] = static_cast<unsigned>(simulated_.at("numbers").at("cpus").get<double>());
        about_["kernel"] = "a simulated kernel";
        about_["simulated"] = simulated_;
        about_["simulated"]["build"] = digest_of(program_);
    }

    unsigned cpus() const { return about_.at("cpus").get<unsigned>(); }

    // One thread, half the CPUs, all of them, and more.
    void complete() {
        check_locks(options_.locks, lock_choice::interposed);
        if (options_.threads.empty())
            options_.threads = {1, std::max(1u, cpus() / 2), cpus(), cpus() * 3 / 2, cpus() * 2};
        options_.threads = without_repeats(options_.threads);
        if (!options_.trace_path.empty() && cell_count() != 1)
            throw usage_error("a trace is of one cell: name one lock (--locks), one number of threads (--threads), and "
                              "one round");
        about_["options"] = {{"workload", options_.workload}, {"locks", options_.locks},
                             {"threads", options_.threads},   {"seconds", options_.seconds},
                             {"rounds", options_.rounds},     {"background", options_.background},
                             {"seed", options_.seed}};
    }

    std::size_t cell_count() const { return options_.locks.size() * options_.threads.size() * options_.rounds; }

    void simulate_all() {
        progress bar(cell_count());
        for (unsigned round = 1; round <= options_.rounds; round++) {
            for (unsigned threads : options_.threads) {
                for (const auto &lock : options_.locks) {
                    std::string label =
                        fmt::format("{}, {}, round {}", lock, format_number_of(threads, "thread"), round);
                    bar.begin(label);
                    std::string reason;
                    std::optional<json> record = simulate_cell(lock, threads, round, reason);
                    if (!record)
                        return;
                    records_.push_back(record->get<result_record>());
                    if (json_file_)
                        json_file_->add(*record);
                    if (!reason.empty()) {
                        bar.clear();
                        say("holdfast: {}: {}\n", label, reason);
                    }
                    bar.end();
                }
            }
        }
    }

    // Nothing when interrupted.
    std::optional<json> simulate_cell(const std::string &lock, unsigned threads, unsigned round, std::string &reason) {
        std::uint64_t seed = options_.seed + round - 1;
        std::vector<std::string> words = command();
        words.insert(words.end(), {"--lock", lock, "--threads", std::to_string(threads), "--seconds",
                                   fmt::format("{}", options_.seconds), "--seed", std::to_string(seed), "--background",
                                   std::to_string(options_.background)});
        auto add = [&](const char *name, const std::optional<double> &us) {
            if (us)
                words.insert(words.end(), {name, fmt::format("{}", *us)});
        };
        add("--between-us", options_.between_us);
        add("--section-us", options_.section_us);
        add("--work-us", options_.work_us);
        if (options_.no_monitor)
            words.emplace_back("--no-monitor");
        if (!options_.trace_path.empty())
            words.insert(words.end(), {"--trace", options_.trace_path});
        process_end end =
            process(program{words, {}}).wait(std::chrono::duration<double>(options_.patience_s), &interrupted_);
        if (end.why == process_end::cause::interrupted)
            return std::nullopt;
        cell_result result;
        result.record.workload = options_.workload;
        result.record.lock = lock;
        result.record.threads = threads;
        result.record.background = options_.background;
        std::optional<json> printed = record_printed(end, result);
        json record = printed ? *printed : json(result.record);
        reason = result.reason;
        record["round"] = round;
        record["simulated"] = {{"machine", simulated_.at("machine")}, {"seed", seed}};
        return record;
    }

    void show() const {
        if (records_.empty())
            return;
        fmt::print("{}; {}; {} virtual s a cell{}\nmonitor: {}\n\n{}", options_.workload,
                   about_.at("machine").get<std::string>(), options_.seconds, background_phrase(options_.background),
                   about_.at("monitor").get<std::string>(), cell_tables(records_, options_.locks, options_.threads));
        if (json_file_) {
            json_file_->finish();
            fmt::print("Records: {}\n", json_file_->name());
        }
        picture_.write([this](picture_format format) { return draw(throughput_picture(), format); });
        if (!options_.trace_path.empty())
            fmt::print("Trace: {} (open it at ui.perfetto.dev)\n", options_.trace_path);
        fmt::print("Simulated: read shapes and reasons from it, not figures (docs/simulator.md).\n");
    }

    plot throughput_picture() const {
        plot picture =
            throughput_plot(options_.workload + ", simulated", records_, options_.locks, options_.threads, cpus());
        picture.subtitles = {fmt::format("{}; {} of {} virtual s{}", about_.at("machine").get<std::string>(),
                                         format_number_of(options_.rounds, "round"), options_.seconds,
                                         background_phrase(options_.background)),
                             "$ " + about_.at("command").get<std::string>()};
        return picture;
    }

    simulate_options options_;
    const interruption &interrupted_;
    std::string program_, machine_path_;
    json simulated_, about_;
    std::optional<record_file> json_file_;
    picture_file picture_;
    std::vector<result_record> records_;
};

int list_what_there_is() {
    fmt::print("Machines: {}\n", fmt::join(machine_names(), ", "));
    process_end end = process(program{{workload_program("simulate"), "--list"}, {}}).wait(std::nullopt, nullptr);
    if (!end.succeeded())
        throw failure("the simulator " + end.sentence());
    fmt::print("Workloads: {}", end.output);
    return exit_ok;
}

ending simulate(const simulate_options &options) {
    if (options.list)
        return list_what_there_is();
    if (options.workload.empty() || options.machine.empty())
        throw usage_error("which workload, on which machine (--machine)? 'holdfast simulate --list' lists them");
    interruption interrupted;
    return simulate_run(options, interrupted).run();
}

} // namespace

void add_simulate(CLI::App &app, action &chosen) {
    auto options = std::make_shared<simulate_options>();
    CLI::App *verb = app.add_subcommand("simulate", "Simulate a workload on a machine that need not be there");
    verb->add_option("workload", options->workload, "Which workload: see --list")->type_name("WORKLOAD");
    verb->add_flag("--list", options->list, "List machines and workloads");
    verb->add_option("--machine", options->machine, "Which machine: a name, see --list, or a file")
        ->type_name("NAME|FILE")
        ->check(not_empty());
    verb->add_option("--set", options->changes, "NAME=VALUE or NAME*FACTOR: change a number of the machine")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    add_locks_option(*verb, options->locks, lock_choice::interposed);
    add_numbers(*verb, "--threads", options->threads,
                "Numbers of threads, separated by commas (default: 1, half the CPUs, all, and more)",
                {"N,N,...", 1u, simulated_threads_max});
    add_number(*verb, "--seconds", options->seconds, "Virtual time for which a cell is measured, after a quarter of it",
               {"S", seconds_min, virtual_seconds_max});
    add_number(*verb, "--rounds", options->rounds, "How often each cell is simulated, each time by another seed",
               {"N", 1u, rounds_max});
    verb->add_option("--seed", options->seed, "Of the first round's chance: the same seed, the same figures")
        ->type_name("N")
        ->capture_default_str();
    add_number(*verb, "--background", options->background, "Busy threads of another process",
               {"N", 0u, simulated_threads_max});
    add_number(*verb, "--between-us", options->between_us,
               "shared-memory: microseconds from a release to the next request", {"US", 0.0, between_us_max});
    add_number(*verb, "--section-us", options->section_us, "shared-memory, scl-*: microseconds of a critical section",
               {"US", 0.0, section_us_max});
    add_number(*verb, "--work-us", options->work_us,
               "poll-under-lock, phases, stages, task-queue: microseconds of work outside of all locks",
               {"US", 0.0, section_us_max});
    verb->add_flag("--no-monitor", options->no_monitor, "Locks are told that no monitor runs");
    add_number(*verb, "--timeout", options->patience_s, "Real time that a cell may take",
               {"S", seconds_min, seconds_max});
    add_file(*verb, "--json", options->json_path, "Write all records there, after every cell");
    add_file(*verb, "--plot", options->plot_path, "Draw throughput over threads: a .svg or .png file (needs gnuplot)");
    add_file(*verb, "--trace", options->trace_path,
             "Of one cell: what each CPU and each thread did, for ui.perfetto.dev");
    verb->footer("Exit status: 0; 1 when a cell failed; 2 when the command line is wrong; 125 when holdfast failed;\n"
                 "interrupted, by the signal (what was simulated is shown and kept).\n"
                 "Examples:\n"
                 "  holdfast simulate shared-memory --machine hundred-four --locks glibc,mcs,flexguard\n"
                 "  holdfast simulate poll-under-lock --machine two --threads 4,8 --seconds 0.2 --json cells.json\n"
                 "  holdfast simulate shared-memory --machine eight --locks flexguard --threads 16 --trace trace.json");
    verb->callback([options, &chosen] { chosen = [options] { return simulate(*options); }; });
}

} // namespace holdfast::cli
