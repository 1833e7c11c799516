// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor/metrics_page.hpp"

#include <fmt/core.h>
#include <string_view>

#include "cli/monitor/monitor_figures.hpp"
#include "monitor/cpu_set.hpp"

namespace holdfast::cli {
namespace {

// As Prometheus wants the values of labels; what is not ASCII might not be UTF-8, which would spoil the whole page.
std::string label_text(const std::string &text) {
    std::string safe;
    for (char each : text) {
        if (each == '\\' || each == '"')
            safe += '\\';
        safe += each >= 0x20 && each < 0x7f ? each : '?';
    }
    return safe;
}

std::string heading(const char *name, const char *help) {
    const char *type = std::string_view(name).ends_with("_total") ? "counter" : "gauge";
    return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

std::string single(const char *name, const char *help, std::uint64_t value) {
    return heading(name, help) + fmt::format("{} {}\n", name, value);
}

// For each scope that there is something to tell of.
template <typename Value>
std::string by_scope(const char *name, const char *help, const hf_monitor_status &status, const Value &value_of) {
    std::string text = heading(name, help);
    for (std::size_t number = 0; number < HF_HINT_SCOPES; number++) {
        if (is_worth_telling(status.scope[number], number))
            text += fmt::format("{}{{scope=\"{}\"{}\n", name, number, value_of(status.scope[number]));
    }
    return text;
}

std::string lines_of_scopes(const hf_monitor_status &status) {
    std::string text;
    for (const scope_figure &each : scope_figures())
        text += by_scope(each.metric, each.title, status,
                         [&](const hf_scope_status &scope) { return fmt::format("}} {}", scope.*each.value); });
    return text + by_scope("holdfast_scope_info", "the CPUs of a scope's processes, as a label", status,
                           [](const hf_scope_status &scope) {
                               return fmt::format(",cpus=\"{}\"}} 1", to_list(cpus_of_words(scope.cpus)));
                           });
}

struct program_figure {
    const char *metric;
    const char *title;
    double program_total::*value;
};

constexpr program_figure program_figures[] = {
    {"holdfast_program_processes", "processes of this program whose statistics are read", &program_total::processes},
    {"holdfast_program_acquisitions_total", "acquisitions of this program's locks", &program_total::acquisitions},
    {"holdfast_program_contended_total", "acquisitions that found the lock held", &program_total::contended},
    {"holdfast_program_sleeps_total", "times that a thread went to sleep for a lock", &program_total::sleeps},
    {"holdfast_program_waited_seconds_total", "time that threads waited for locks, all threads together",
     &program_total::waited_s},
    {"holdfast_program_waiting_threads", "threads that sleep for a lock now", &program_total::waiting_now},
};

std::string lines_of_programs(const std::vector<program_total> &programs) {
    std::string text;
    for (const program_figure &figure : program_figures) {
        text += heading(figure.metric, figure.title);
        for (const program_total &each : programs)
            text +=
                fmt::format("{}{{program=\"{}\"}} {}\n", figure.metric, label_text(each.program), each.*figure.value);
    }
    return text;
}

} // namespace

std::string metrics_page(const hf_monitor_status &status, const std::vector<program_total> &programs) {
    std::string text;
    for (const monitor_figure &each : monitor_figures())
        text += single(each.metric, each.title, status.*each.value);
    text += heading("holdfast_uptime_seconds", "time since the service started") +
            fmt::format("holdfast_uptime_seconds {}\n", static_cast<double>(status.uptime_ns) / 1e9);
    text += heading("holdfast_build_info", "the version of Holdfast, as a label") +
            fmt::format("holdfast_build_info{{version=\"{}\"}} 1\n", label_text(status.holdfast_version));
    return text + lines_of_scopes(status) + lines_of_programs(programs);
}

} // namespace holdfast::cli
