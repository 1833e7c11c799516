// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor_status.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/quantity.hpp"
#include "monitor/service_report.hpp"

namespace holdfast::cli {
namespace {

struct status_options {
    std::string socket = service_socket();
    bool json = false;
};

struct figure {
    const char *name, *title;
    std::uint64_t hf_monitor_status::*value;
};

constexpr figure figures[] = {
    {"preempted_critical_sections", "critical sections preempted now", &hf_monitor_status::preempted_critical_sections},
    {"preemptions_total", "critical sections preempted", &hf_monitor_status::preemptions_total},
    {"sleeps_total", "critical sections that slept", &hf_monitor_status::sleeps_total},
    {"uncounted_total", "not counted, for want of memory", &hf_monitor_status::uncounted_total},
    {"unseen_switches_total", "switches hidden by the kernel", &hf_monitor_status::unseen_switches_total},
    {"audits_total", "audits of the count", &hf_monitor_status::audits_total},
    {"repairs", "repairs of the count", &hf_monitor_status::repairs_total},
    {"registered_processes", "registered processes", &hf_monitor_status::registered_processes},
    {"registrations_total", "registrations", &hf_monitor_status::registrations_total},
    {"refusals_total", "requests refused", &hf_monitor_status::refusals_total},
};

double uptime_s(const service_report &report) {
    return static_cast<double>(report.status.uptime_ns) / 1e9;
}

void print(const service_report &report) {
    fmt::print("holdfast {}: {}\n", report.status.holdfast_version, report.sentence);
    fmt::print("  {:<34}{:>14}\n", "running for", format_minutes(uptime_s(report)));
    for (const figure &each : figures)
        fmt::print("  {:<34}{:>14}\n", each.title, report.status.*each.value);
}

void print_json(const service_report &report, const std::string &socket) {
    nlohmann::ordered_json out;
    out["state"] = name_of(report.is);
    out["socket"] = socket;
    out["detail"] = report.sentence;
    if (report.is == service_report::state::running) {
        out["version"] = report.status.holdfast_version;
        out["uptime_s"] = uptime_s(report);
        for (const figure &each : figures)
            out[each.name] = report.status.*each.value;
    }
    fmt::print("{}\n", out.dump(2));
}

int tell(const status_options &options) {
    service_report report = ask_service(options.socket);
    bool runs = report.is == service_report::state::running;
    if (options.json)
        print_json(report, options.socket);
    else if (runs)
        print(report);
    else
        fmt::print(stderr, "holdfast: {}\n", report.sentence);
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
    verb->callback([options, &chosen] { chosen = [options] { return tell(*options); }; });
}

} // namespace holdfast::cli
