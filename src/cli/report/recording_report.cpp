// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/recording_report.hpp"

#include <array>
#include <fmt/core.h>
#include <fstream>
#include <functional>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/common/exit_status.hpp"
#include "cli/common/output_file.hpp"
#include "cli/report/flame_graph.hpp"
#include "cli/report/wait_formats.hpp"
#include "cli/report/wait_summary.hpp"

namespace holdfast::cli::report {
namespace {

recording read_recording(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    try {
        if (auto found = recording::read(text.str()))
            return std::move(*found);
    } catch (const usage_error &error) {
        throw usage_error(fmt::format("'{}': {}", path, error.what()));
    }
    throw usage_error(fmt::format("'{}': it is a recording that is not whole: record again", path));
}

std::string name_of(const recording &of, pid_t pid) {
    for (const watched_process &each : of.processes()) {
        if (each.pid == pid)
            return of.process_name(each);
    }
    return fmt::format("process {}", pid);
}

std::string title_of(const recording &of) {
    std::string what = "process";
    const auto &about = of.about();
    if (about.contains("command") && !about.at("command").empty() && about.at("command").front().is_string())
        what = about.at("command").front().get<std::string>();
    else if (about.contains("pid") && about.at("pid").is_number())
        what = name_of(of, about.at("pid").get<pid_t>());
    return fmt::format("waits in futexes: {}, {:.3g} s", what, about.value("seconds", 0.0));
}

} // namespace

bool recording_files::some() const {
    for (const std::string *each : {&flame_graph, &folded, &perfetto, &speedscope, &pprof}) {
        if (!each->empty())
            return true;
    }
    return false;
}

bool is_recording(const std::string &path) {
    constexpr std::string_view begin = R"({"kind":"holdfast-recording")";
    std::array<char, begin.size()> first{};
    std::ifstream file(path, std::ios::binary);
    file.read(first.data(), first.size());
    return file && std::string_view(first.data(), first.size()) == begin;
}

int report_recording(const std::string &path, const recording_files &files) {
    recording of = read_recording(path);
    wait_profile profile;
    for (const lock_wait &each : of.waits())
        profile.add(each);
    waited_things things = profile.things(of);
    std::vector<waiting_stack> stacks = waiting_stacks(of, things);
    std::vector<std::pair<std::string, std::function<std::string()>>> wanted = {
        {files.flame_graph, [&] { return flame_graph(stacks, title_of(of)); }},
        {files.folded, [&] { return folded(stacks); }},
        {files.perfetto, [&] { return perfetto_trace(of, things); }},
        {files.speedscope, [&] { return speedscope_profile(stacks, title_of(of)); }},
        {files.pprof, [&] { return pprof_profile(stacks); }},
    };
    std::vector<std::pair<output_file, std::function<std::string()>>> outputs;
    for (const auto &[name, made] : wanted) {
        if (!name.empty())
            outputs.emplace_back(output_file(name), made);
    }
    fmt::print("{}", wait_summary(of, profile));
    for (const auto &[output, made] : outputs)
        output.write(made());
    return exit_ok;
}

} // namespace holdfast::cli::report
