// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast report: results files in, one HTML page out.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/core.h>
#include <memory>
#include <set>
#include <tuple>

#include "cli/common/exit_status.hpp"
#include "cli/common/not_empty.hpp"
#include "cli/common/options.hpp"
#include "cli/common/output_file.hpp"
#include "cli/common/progress.hpp"
#include "cli/draw/plot.hpp"
#include "cli/experiment/results_file.hpp"
#include "cli/report/drawn_locks.hpp"
#include "cli/report/envelope.hpp"
#include "cli/report/kernel_lock_figures.hpp"
#include "cli/report/page.hpp"
#include "cli/report/program_figures.hpp"
#include "cli/report/recording_report.hpp"
#include "cli/report/slice_figures.hpp"
#include "cli/report/workload_figures.hpp"
#include "cli/verbs.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli::report {
namespace {

struct report_options {
    std::vector<std::string> results;
    std::string output_path = "report.html";
    std::string picture_directory;
    std::vector<std::string> locks;
    bool acceptance = false;
    recording_files of_recording;
};

// What all the files hold.
struct material {
    std::vector<source> sources;
    std::vector<workload_measurement> workloads;
    std::vector<slice_measurement> slices;
    std::vector<program_measurement> programs;
    std::vector<kernel_lock_measurement> kernel_locks;

    void add(const std::string &path) {
        results file = read_results(path);
        std::size_t not_ok = 0;
        try {
            if (kernel_lock_measurement::is_in(file))
                kernel_locks.emplace_back(file);
            else if (file.about.contains("program"))
                not_ok = programs.emplace_back(file).not_ok();
            else if (slice_measurement::is_in(file))
                not_ok = slices.emplace_back(file).not_ok();
            else
                not_ok = workloads.emplace_back(file).not_ok();
        } catch (const json::exception &) {
            throw usage_error(
                fmt::format("'{}' is not a results file that can be shown: its records are not those of one "
                            "run of 'holdfast bench' or 'holdfast compare'; give another",
                            path));
        }
        sources.push_back({path, file.about, file.version, file.records.size(), not_ok});
    }
};

// For a file's name and an anchor: letters, digits and dashes.
std::string slug(const std::string &text) {
    constexpr std::size_t length_max = 60;
    std::string made;
    for (unsigned char c : text) {
        if (std::isalnum(c) && c < 128)
            made += static_cast<char>(std::tolower(c));
        else if (!made.empty() && made.back() != '-')
            made += '-';
    }
    made.resize(std::min(made.size(), length_max));
    while (!made.empty() && made.back() == '-')
        made.pop_back();
    return made.empty() ? "figure" : made;
}

class section_list {
public:
    // The reader's own programs come first.
    section_list(const material &of, const drawn_locks &drawn, bool acceptance) {
        for (const auto &one : of.programs)
            keep(program_section(one, drawn, unused_name(one.figure_name() + background_in_name(one.background()))));
        for (const auto &one : of.workloads) {
            if (!one.between_us())
                keep(workload_section(one, drawn, unused_name(one.workload() + background_in_name(one.background()))));
        }
        for (const auto &group : over_time_between(of.workloads))
            keep(time_between_section(group, drawn, unused_name(group.front()->workload() + "-time-between")));
        for (const auto &one : of.slices)
            keep(slice_section(one, unused_name(one.workload() + background_in_name(one.background()))));
        for (const auto &one : of.kernel_locks)
            keep(kernel_lock_section(one, unused_name(one.experiment())));
        if (acceptance)
            keep(envelope_section(of.workloads, of.programs));
    }

    const std::vector<section> &all() const { return all_; }

private:
    static std::string background_in_name(unsigned threads) {
        return threads ? fmt::format("-background-{}", threads) : "";
    }

    // Those of one machine and workload together, by growing time.
    static std::vector<std::vector<const workload_measurement *>>
    over_time_between(const std::vector<workload_measurement> &workloads) {
        std::map<std::tuple<std::string, std::string, unsigned>, std::vector<const workload_measurement *>> groups;
        for (const auto &one : workloads) {
            if (one.between_us())
                groups[{one.workload(), machine_in(one.about()), one.background()}].push_back(&one);
        }
        std::vector<std::vector<const workload_measurement *>> sorted;
        for (auto &[key, group] : groups) {
            std::stable_sort(group.begin(), group.end(),
                             [](const auto *a, const auto *b) { return a->between_us() < b->between_us(); });
            sorted.push_back(group);
        }
        return sorted;
    }

    std::string unused_name(const std::string &wanted) {
        std::string name = slug(wanted);
        for (unsigned number = 2; !names_.insert(name).second; number++)
            name = fmt::format("{}-{}", slug(wanted), number);
        return name;
    }

    void keep(section one) {
        if (!one.figures.empty())
            all_.push_back(std::move(one));
    }

    std::vector<section> all_;
    std::set<std::string> names_;
};

// A directory that is there, or can be.
void make_directory(const std::string &path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
        throw usage_error(fmt::format("can't make the directory '{}': {}", path, error.message()));
}

void check_drawn_locks(const std::vector<std::string> &wanted, const material &of) {
    std::set<std::string> there;
    for (const auto &one : of.workloads)
        there.insert(one.locks().begin(), one.locks().end());
    for (const auto &one : of.slices) {
        for (const auto &whose : one.grid().contenders)
            there.insert(whose.lock);
    }
    for (const auto &one : of.programs)
        there.insert(one.locks().begin(), one.locks().end());
    if (wanted.size() > plot_styles)
        throw usage_error(fmt::format("--locks: {} lines are all that can be told apart in a picture: name fewer locks",
                                      plot_styles));
    for (const auto &name : wanted) {
        if (!there.contains(name))
            throw usage_error(fmt::format("--locks: no file has figures of '{}': leave it out", name));
    }
}

std::string drawn_as(const figure &one, picture_format format) {
    return std::visit([format](const auto &picture) { return draw(picture, format); }, *one.picture);
}

int make_report(const report_options &options) {
    if (is_recording(options.results.front())) {
        if (options.results.size() > 1)
            throw usage_error("a recording is reported alone: give one file");
        return report_recording(options.results.front(), options.of_recording);
    }
    if (options.of_recording.some())
        throw usage_error("--flame-graph, --folded, --perfetto, --speedscope and --pprof are of what 'holdfast record' "
                          "wrote: leave them out");
    material of;
    for (const auto &path : options.results)
        of.add(path);
    check_drawn_locks(options.locks, of);
    check_gnuplot("");
    for (const auto &path : options.results) {
        std::error_code ignored;
        if (std::filesystem::equivalent(path, options.output_path, ignored))
            throw usage_error(
                fmt::format("the page would replace '{}', which it is made of: give --output another name", path));
    }
    output_file output(options.output_path);
    if (!options.picture_directory.empty())
        make_directory(options.picture_directory);
    section_list sections(of, drawn_locks(of.workloads, of.programs, options.locks), options.acceptance);

    std::vector<const figure *> drawn;
    for (const auto &one : sections.all()) {
        for (const auto &each : one.figures) {
            if (each.picture)
                drawn.push_back(&each);
        }
    }
    std::map<std::string, std::string> pictures;
    {
        progress bar(drawn.size());
        for (const figure *one : drawn) {
            bar.begin(one->name);
            pictures[one->name] = drawn_as(*one, picture_format::svg);
            if (!options.picture_directory.empty())
                output_file(options.picture_directory + "/" + one->name + ".png")
                    .write(drawn_as(*one, picture_format::png));
            bar.end();
        }
    }
    output.write(page(of.sources, sections.all(), pictures));
    fmt::print("Report: {}\n", output.name());
    if (!options.picture_directory.empty())
        fmt::print("Pictures: {} in {}\n", drawn.size(), options.picture_directory);
    return exit_ok;
}

} // namespace
} // namespace holdfast::cli::report

namespace holdfast::cli {

void add_report(CLI::App &app, action &chosen) {
    auto options = std::make_shared<report::report_options>();
    CLI::App *verb =
        app.add_subcommand("report", "Make one HTML page of what bench and compare measured, or tell of a recording");
    verb->add_option("results", options->results,
                     "Files that bench --json and compare --json wrote; or one that record wrote")
        ->type_name("FILE...")
        ->required();
    verb->add_option("-o,--output", options->output_path, "Where the page goes")
        ->type_name("FILE")
        ->capture_default_str();
    verb->add_option("--png", options->picture_directory, "Also write each figure as a PNG file there")
        ->type_name("DIR")
        ->check(not_empty());
    verb->add_option("--locks", options->locks, "Which locks the pictures show, at most eight; tables have all")
        ->type_name("NAME,...")
        ->delimiter(',')
        ->allow_extra_args(false);
    verb->add_flag("--acceptance", options->acceptance,
                   "Also hold the default mutex against what Holdfast's developers ask of it");
    add_file(*verb, "--flame-graph", options->of_recording.flame_graph,
             "Of a recording: where threads wait, as a picture (SVG)");
    add_file(*verb, "--folded", options->of_recording.folded, "Of a recording: stacks, one a line, with microseconds");
    add_file(*verb, "--perfetto", options->of_recording.perfetto,
             "Of a recording: each wait in time, for ui.perfetto.dev");
    add_file(*verb, "--speedscope", options->of_recording.speedscope, "Of a recording: for speedscope.app");
    add_file(*verb, "--pprof", options->of_recording.pprof, "Of a recording: for 'go tool pprof'");
    verb->footer(
        "The page needs gnuplot; of a recording a summary is printed. Exit status: 0; 2 when the command line or a\n"
        "file is wrong; 125 when holdfast failed.\n\n"
        "Examples:\n"
        "  holdfast bench shared-memory --resume cells.json\n"
        "  holdfast report cells.json -o report.html --png pictures\n"
        "  holdfast report holdfast-recording.json --flame-graph waits.svg");
    verb->callback([options, &chosen] { chosen = [options] { return report::make_report(*options); }; });
}

} // namespace holdfast::cli
