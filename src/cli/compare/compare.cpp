// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast compare: an unmodified program under several locks, in interleaved rounds.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "cli/common/exit_status.hpp"
#include "cli/common/install.hpp"
#include "cli/common/interruption.hpp"
#include "cli/common/not_empty.hpp"
#include "cli/common/options.hpp"
#include "cli/common/output_file.hpp"
#include "cli/common/progress.hpp"
#include "cli/common/say.hpp"
#include "cli/compare/metric.hpp"
#include "cli/experiment/file_digest.hpp"
#include "cli/experiment/machine.hpp"
#include "cli/experiment/measured_locks.hpp"
#include "cli/experiment/program_run.hpp"
#include "cli/experiment/record_file.hpp"
#include "cli/experiment/verdict.hpp"
#include "cli/start/background_load.hpp"
#include "cli/start/ending.hpp"
#include "cli/start/invoker.hpp"
#include "cli/start/process.hpp"
#include "cli/start/session.hpp"
#include "cli/verbs.hpp"
#include "measure/quantity.hpp"
#include "measure/workload.hpp"

namespace holdfast::cli {
namespace {

constexpr std::size_t shown_lines_max = 10;

struct compare_options {
    std::vector<std::string> program;
    std::vector<std::string> locks{"glibc", "flexguard", "blocking"};
    std::vector<unsigned> threads; // empty: the arguments are taken as they are
    unsigned rounds = 3;
    unsigned background = 0;
    std::string metric_pattern;
    bool higher_is_better = false;
    bool lower_is_better = false;
    double timeout_s = 300;
    std::string json_path;
    std::string resume_path;
    unsigned warm_up = 0;
    std::string prepare, clean_up; // for the shell
    std::string csv_path, markdown_path;
    bool verbose = false;
    bool as_root = false;
};

std::string last_lines(const std::string &text, std::size_t lines_max) {
    std::size_t from = text.size();
    if (from > 0 && text[from - 1] == '\n')
        from--;
    for (std::size_t lines = 0; lines < lines_max && from != std::string::npos && from > 0; lines++)
        from = text.rfind('\n', from - 1);
    return from == std::string::npos || from == 0 ? text : text.substr(from + 1);
}

constexpr std::string_view placeholder = "{}";

// The arguments with each {} replaced. 0: as they are.
std::vector<std::string> filled_in(std::vector<std::string> arguments, unsigned threads) {
    for (std::string &one : arguments) {
        for (std::size_t at = 0; threads && (at = one.find(placeholder, at)) != std::string::npos;)
            one.replace(at, placeholder.size(), std::to_string(threads));
    }
    return arguments;
}

run_status status_of(const process_end &end) {
    if (end.why == process_end::cause::timed_out)
        return run_status::timeout;
    if (end.why == process_end::cause::signalled)
        return run_status::crash;
    return end.number == 0 ? run_status::ok : run_status::failed;
}

// One run of the verb.
class comparison {
public:
    explicit comparison(compare_options options) : options_(std::move(options)) {
        if (options_.program.empty())
            throw usage_error("there is no program to run: put it after --, as in 'holdfast compare -- ./benchmark'");
        bool has_placeholder = std::any_of(options_.program.begin() + 1, options_.program.end(),
                                           [](const auto &one) { return one.find(placeholder) != std::string::npos; });
        if (!options_.threads.empty() && !has_placeholder)
            throw usage_error("--threads replaces {} in the program's arguments, but they have none: put it where the "
                              "number of threads goes, as in '-- ./benchmark --threads {}'");
        options_.threads = options_.threads.empty() ? std::vector{0u} : without_repeats(options_.threads);
        check_locks(options_.locks, lock_choice::interposed);
        if (!options_.metric_pattern.empty())
            metric_.emplace(options_.metric_pattern);
        if (!options_.resume_path.empty())
            json_file_.emplace(record_file::resuming(options_.resume_path));
        else if (!options_.json_path.empty())
            json_file_.emplace(record_file::at(options_.json_path));
        if (!options_.as_root)
            user_ = invoker_before_sudo();
        by_.by_metric = metric_.has_value();
        if (metric_)
            by_.metric_name = name_of_metric(options_.metric_pattern);
        if (!options_.csv_path.empty())
            csv_file_.emplace(options_.csv_path);
        if (!options_.markdown_path.empty())
            markdown_file_.emplace(options_.markdown_path);
        by_.higher_is_better = metric_ ? !options_.lower_is_better : options_.higher_is_better;
    }

    ending run() {
        busy_ = why_machine_is_busy();
        session monitored;
        describe(monitored);
        if (json_file_)
            go_on();
        for (const auto &lock : options_.locks) // before the first run, whichever lock that has
            environments_[lock] = monitored.preload_environment(interposition_of(lock));
        interruption interrupted;
        try {
            measure(interrupted);
        } catch (const failure &) {
            report(); // what was measured is not lost with what could not be
            throw;
        }
        if (busy_.empty()) // others may have begun meanwhile
            busy_ = why_machine_is_busy();
        if (json_file_)
            json_file_->note("busy", busy_);
        report();
        write_tables();
        if (json_file_ && !runs_.empty()) {
            json_file_->finish();
            fmt::print("Records: {}\n", json_file_->name());
        }
        if (interrupted.requested()) {
            say("holdfast: interrupted after {} of {} runs{}\n", runs_.size(), run_count(), how_to_go_on(json_file_));
            return ending::by_signal(interrupted.signal());
        }
        bool all_ok =
            std::all_of(runs_.begin(), runs_.end(), [](const auto &one) { return one.status == run_status::ok; });
        return all_ok ? exit_ok : exit_some_failed;
    }

private:
    std::size_t run_count() const { return options_.locks.size() * options_.threads.size() * options_.rounds; }

    bool is_grid() const { return options_.threads.front() != 0; }

    void describe(const session &monitored) {
        about_ = about(monitored);
        about_["program"] = options_.program;
        about_["metric"] = metric_ ? options_.metric_pattern : "wall_s";
        if (options_.background)
            about_["background"] = options_.background;
        about_["better"] = by_.higher_is_better ? "higher" : "lower";
        about_["options"] = {{"program", options_.program},       {"locks", options_.locks},
                             {"threads", options_.threads},       {"rounds", options_.rounds},
                             {"background", options_.background}, {"metric", about_["metric"]},
                             {"better", about_["better"]},        {"build", digest_of(preload_library())}};
    }

    void go_on() {
        runs_ = json_file_->go_on<program_run>(about_, run_count(), "runs");
        for (const auto &one : runs_)
            measured_.insert({one.lock, one.threads, one.round});
    }

    void measure(const interruption &interrupted) {
        for (unsigned i = 0; i < options_.warm_up && runs_.size() < run_count(); i++) {
            for (const auto &lock : options_.locks)
                if (!measure_run({.lock = lock, .threads = options_.threads.front()}, interrupted, progress(0)))
                    return;
        }
        progress bar(run_count() - std::min(run_count(), runs_.size()));
        for (unsigned round = 1; round <= options_.rounds && !interrupted.requested(); round++) {
            for (unsigned threads : options_.threads) {
                for (const auto &lock : rotated(options_.locks, round - 1)) {
                    program_run one{.lock = lock, .threads = threads, .round = round};
                    if (measured_.contains({lock, threads, round}))
                        continue;
                    bar.begin(label_of(one));
                    if (interrupted.requested() || !measure_run(one, interrupted, bar))
                        break;
                    bar.end();
                }
            }
        }
    }

    // What the shell is told between runs has failed: then nothing is measured as it was meant.
    void tell_shell(const std::string &command, const char *option, const interruption &interrupted) const {
        if (command.empty() || interrupted.requested())
            return;
        process_end end = process({.arguments = {"/bin/sh", "-c", command}, .variables = {}, .user = user_})
                              .wait(std::chrono::duration<double>(options_.timeout_s), &interrupted);
        if (status_of(end) != run_status::ok && end.why != process_end::cause::interrupted)
            throw failure(fmt::format("{} '{}' {}: mend it, or leave it out", option, command, end.sentence()));
    }

    // False when interrupted. Of a warm-up (round 0) nothing is kept.
    bool measure_run(program_run one, const interruption &interrupted, const progress &bar) {
        background_load background(options_.background, interrupted);
        if (!background.runs())
            return false;
        program what{.arguments = filled_in(options_.program, one.threads),
                     .variables = environments_.at(one.lock),
                     .user = user_,
                     .one_output = true};
        tell_shell(options_.prepare, "--prepare", interrupted);
        process_end end = process(what).wait(std::chrono::duration<double>(options_.timeout_s), &interrupted);
        tell_shell(options_.clean_up, "--cleanup", interrupted);
        if (end.why == process_end::cause::interrupted)
            return false;
        if (one.round == 0)
            return true;
        one.status = status_of(end);
        one.wall_s = end.wall_s;
        one.cpu_s = end.cpu_s;
        one.context_switches = end.context_switches;
        if (metric_ && one.status == run_status::ok) {
            one.metric = metric_->find(end.output);
            if (!one.metric)
                one.status = run_status::no_metric;
        }
        runs_.push_back(one);
        if (json_file_)
            json_file_->add(one);
        show(one, end, bar);
        return true;
    }

    // The output of a run is kept from the terminal, unless it is asked for or tells what went wrong; then once a lock.
    void show(const program_run &one, const process_end &end, const progress &bar) {
        bool went_wrong = one.status != run_status::ok;
        if (!options_.verbose && !(went_wrong && shown_.insert(one.lock).second))
            return;
        bar.clear();
        std::string what =
            one.status == run_status::no_metric ? "ended well, but --metric found no number" : end.sentence();
        std::string output = options_.verbose ? end.output : last_lines(end.output, shown_lines_max);
        say("holdfast: {}: {} {}{}\n", label_of(one), options_.program[0], what,
            output.empty()     ? ""
            : options_.verbose ? "; its output:"
                               : "; its last lines:");
        say("{}{}", output, output.empty() || output.back() == '\n' ? "" : "\n");
    }

    void report() const {
        if (runs_.empty())
            return;
        fmt::print("{}\n{}; medians of {}{}{}\nmonitor: {}\n\n", about_.at("command").get<std::string>(),
                   machine_in(about_), format_number_of(options_.rounds, "round"),
                   by_.higher_is_better ? "; higher is better" : "; lower is better",
                   background_phrase(options_.background), about_.at("monitor").get<std::string>());
        for (unsigned threads : options_.threads) {
            if (threads)
                fmt::print("{}\n", format_number_of(threads, "thread"));
            fmt::print("{}{}", comparison_table(with_threads(runs_, threads), options_.locks, by_),
                       threads ? "\n" : "");
        }
        if (is_grid())
            fmt::print("{}", comparison_grid(runs_, options_.locks, options_.threads, by_));
        if (std::find(options_.locks.begin(), options_.locks.end(), "glibc") != options_.locks.end())
            fmt::print(
                "\nvs glibc: median of the ratios within a round; above 1 is better than glibc; interval: where it "
                "lies in some 9 of 10 such measurements\n");
        give_verdicts();
    }

    // The last lines: what to do. Of what is no measurement that is to measure.
    void give_verdicts() const {
        if (!busy_.empty()) {
            fmt::print("\nverdict:\n  {}: try again when it is not\n", busy_);
            return;
        }
        std::string text;
        for (unsigned threads : options_.threads) {
            std::vector<program_run> cell = with_threads(runs_, threads);
            for (const auto &lock : options_.locks) {
                std::string verdict =
                    lock == "glibc" ? "" : verdict_on(lock, ratios_to_glibc(cell, lock, by_), options_.rounds);
                if (!verdict.empty())
                    text += fmt::format("  {}{}\n", threads ? format_number_of(threads, "thread") + ": " : "", verdict);
            }
        }
        bool has_glibc = std::ranges::find(options_.locks, "glibc") != options_.locks.end();
        if (text.empty() && !has_glibc)
            text = "  there is nothing to compare with: add glibc to --locks\n";
        else if (text.empty() && options_.locks.size() > 1)
            text =
                "  in no round a run under glibc's and one under another lock went well: see above what went wrong\n";
        if (!text.empty())
            fmt::print("\nverdict:\n{}", text);
    }

    void write_tables() {
        if (runs_.empty())
            return;
        if (csv_file_)
            csv_file_->write(comparison_rows(runs_, options_.locks, options_.threads, by_, table_form::csv));
        if (markdown_file_)
            markdown_file_->write(comparison_rows(runs_, options_.locks, options_.threads, by_, table_form::markdown));
    }

    static std::string label_of(const program_run &one) {
        std::string threads = one.threads ? format_number_of(one.threads, "thread") + ", " : "";
        return fmt::format("{}, {}round {}", one.lock, threads, one.round);
    }

    compare_options options_;
    std::optional<output_file> csv_file_, markdown_file_;
    std::optional<metric> metric_;
    std::optional<record_file> json_file_;
    std::optional<invoker> user_;
    std::map<std::string, environment> environments_; // by lock
    yardstick by_{};
    std::string busy_; // why these are no measurements; empty: they are
    json about_;
    std::vector<program_run> runs_;
    std::set<std::tuple<std::string, unsigned, unsigned>> measured_; // before this run: lock, threads, round
    std::set<std::string> shown_;
};

} // namespace

void add_compare(CLI::App &app, action &chosen) {
    auto options = std::make_shared<compare_options>();
    CLI::App *verb = app.add_subcommand("compare", "Measure any program under several locks");
    add_locks_option(*verb, options->locks, lock_choice::interposed);
    add_number(*verb, "--rounds", options->rounds, "How often the program runs under each lock; figures are medians",
               {"N", 1u, rounds_max});
    add_numbers(*verb, "--threads", options->threads,
                "Numbers of threads, separated by commas: each replaces {} in the program's arguments",
                {"N,N,...", 1u, threads_max});
    add_number(*verb, "--background", options->background, "Busy threads of another process beside each run",
               {"N", 0u, threads_max});
    verb->add_option("--metric", options->metric_pattern,
                     "Regular expression (RE2) whose first group is the number to compare, in the program's output "
                     "and errors; where it matches first. Without it: wall time")
        ->type_name("REGEX")
        ->check(not_empty());
    CLI::Option *higher = verb->add_flag("--higher-is-better", options->higher_is_better, "Default with --metric");
    verb->add_flag("--lower-is-better", options->lower_is_better, "Default for wall time")->excludes(higher);
    add_number(*verb, "--timeout", options->timeout_s, "How long a run may take", {"S", seconds_min, seconds_max});
    CLI::Option *json_option = add_file(*verb, "--json", options->json_path, "Write all runs there, after each one");
    add_file(*verb, "--resume", options->resume_path,
             "As --json, but go on with what is there: runs that it has are not done again")
        ->excludes(json_option);
    add_number(*verb, "--warmup", options->warm_up, "How often the program runs under each lock before it is measured",
               {"N", 0u, rounds_max});
    verb->add_option("--prepare", options->prepare, "A command for the shell before each run, not measured")
        ->type_name("COMMAND");
    verb->add_option("--cleanup", options->clean_up, "The same, after each run")->type_name("COMMAND");
    add_file(*verb, "--csv", options->csv_path, "Write the table there, as comma-separated values");
    add_file(*verb, "--markdown", options->markdown_path, "The same, as Markdown");
    verb->add_flag("--verbose", options->verbose, "Show the output of every run, on standard error");
    add_program(*verb, options->as_root, options->program);
    verb->footer(
        "The program reads /dev/null; its output is shown when it fails.\n"
        "Exit status: 0; 1 when a run failed, timed out or printed no metric; 2 when the command line is wrong;\n"
        "125 when holdfast failed; 126 or 127 when the program can't be executed or found; interrupted, by the\n"
        "signal.\n"
        "Example:\n"
        "  holdfast compare --locks glibc,flexguard,mcs --metric 'ops/s: ([0-9.]+)' -- ./benchmark --threads 32");
    verb->callback([options, &chosen] { chosen = [options] { return comparison(*options).run(); }; });
}

} // namespace holdfast::cli
