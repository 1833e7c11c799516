// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor/monitor_status.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/common/exit_status.hpp"
#include "cli/common/say.hpp"
#include "cli/monitor/monitor_figures.hpp"
#include "measure/quantity.hpp"
#include "monitor/client/service_report.hpp"
#include "monitor/cpu_set.hpp"
#include "monitor/left_out.hpp"

namespace holdfast::cli {
namespace {

struct status_options {
    std::string socket = service_socket();
    bool json = false;
};

double uptime_s(const service_report &report) {
    return static_cast<double>(report.status.uptime_ns) / 1e9;
}

std::string cpus_of(const hf_scope_status &scope) {
    return to_list(cpus_of_words(scope.cpus));
}

void print_scopes(const hf_monitor_status &status) {
    fmt::print("  {:<8}{:>10}{:>15}{:>14}{:>10}  {}\n", "scope", "processes", "preempted now", "preemptions", "sleeps",
               "CPUs of its processes");
    for (std::size_t number = 0; number < HF_HINT_SCOPES; number++) {
        const hf_scope_status &each = status.scope[number];
        if (is_worth_telling(each, number))
            fmt::print("  {:<8}{:>10}{:>15}{:>14}{:>10}  {}\n",
                       number == HF_SCOPE_MACHINE ? "machine" : std::to_string(number), each.registered_processes,
                       each.preempted_critical_sections, each.preemptions_total, each.sleeps_total, cpus_of(each));
    }
}

nlohmann::ordered_json scopes_of(const hf_monitor_status &status) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (std::size_t number = 0; number < HF_HINT_SCOPES; number++) {
        if (!is_worth_telling(status.scope[number], number))
            continue;
        nlohmann::ordered_json one{{"scope", number}, {"cpus", cpus_of(status.scope[number])}};
        for (const scope_figure &each : scope_figures())
            one[each.name] = status.scope[number].*each.value;
        all.push_back(one);
    }
    return all;
}

void print(const service_report &report) {
    fmt::print("holdfast {}: {}\n", report.status.holdfast_version, report.sentence);
    fmt::print("  {:<34}{:>14}\n", "running for", format_minutes(uptime_s(report)));
    for (const monitor_figure &each : monitor_figures())
        fmt::print("  {:<34}{:>14}\n", each.title, report.status.*each.value);
    if (report.status.parts_left_out)
        fmt::print("  without, since the kernel does not take them: {}\n",
                   names_of_parts(static_cast<std::uint32_t>(report.status.parts_left_out)));
    print_scopes(report.status);
}

void print_json(const service_report &report, const std::string &socket) {
    nlohmann::ordered_json out;
    out["state"] = name_of(report.is);
    out["socket"] = socket;
    out["detail"] = report.sentence;
    if (report.is == service_report::state::running) {
        out["version"] = report.status.holdfast_version;
        out["uptime_s"] = uptime_s(report);
        for (const monitor_figure &each : monitor_figures())
            out[each.name] = report.status.*each.value;
        out["left_out"] = names_of_parts(static_cast<std::uint32_t>(report.status.parts_left_out));
        out["scopes"] = scopes_of(report.status);
    }
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

int tell(const status_options &options) {
    service_report report = ask_service(options.socket);
    bool runs = report.is == service_report::state::running;
    if (options.json)
        print_json(report, options.socket);
    else if (runs)
        print(report);
    else
        say("holdfast: {}\n", report.sentence);
    return runs ? exit_ok : exit_some_failed;
}

} // namespace

void add_monitor_status(CLI::App &monitor_verb, action &chosen) {
    auto options = std::make_shared<status_options>();
    CLI::App *verb = monitor_verb.add_subcommand("status", "Ask a running service how it is");
    verb->add_option("--socket", options->socket, "The service's socket")->type_name("PATH")->capture_default_str();
    verb->add_flag("--json", options->json, "Print for machines");
    verb->footer("Exits with 0 when the service runs, with 1 when it does not.\n\n"
                 "Examples:\n"
                 "  holdfast monitor status\n"
                 "  holdfast monitor status --json | jq .registered_processes");
    // 'monitor --socket S status' means the same as 'monitor status --socket S'.
    verb->callback([options, verb, &monitor_verb, &chosen] {
        const CLI::Option *before = monitor_verb.get_option("--socket");
        if (verb->count("--socket") == 0 && before->count() > 0)
            options->socket = before->results().front();
        chosen = [options] { return tell(*options); };
    });
}

} // namespace holdfast::cli
