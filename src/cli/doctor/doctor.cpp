// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast doctor: what this machine offers, how programs will therefore wait for locks, and what to do for better.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/utsname.h>
#include <thread>

#include "base/cpu_limit.h"
#include "cli/common/exit_status.hpp"
#include "cli/common/install.hpp"
#include "cli/common/say.hpp"
#include "cli/doctor/capability.hpp"
#include "cli/doctor/contention.hpp"
#include "cli/start/program_examination.hpp"
#include "cli/start/session.hpp"
#include "cli/symbols/object_fit.hpp"
#include "cli/verbs.hpp"
#include "holdfast/holdfast.h"
#include "measure/number_range.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli {
namespace {

struct doctor_options {
    bool json = false;
    bool verbose = false;
    std::optional<pid_t> pid;
    std::optional<double> watch_s;
    std::vector<std::string> program;
};

struct findings {
    std::string kernel;
    unsigned cpus = 0;
    std::optional<double> cpu_limit; // in CPUs, where that is less
    std::string interposer;          // empty: there is none that can be preloaded
    std::string why_no_interposer;
    object_fits objects;
    std::vector<capability> capabilities;
    std::vector<left_out_part> left_out; // of the monitor
    std::string refusal_log;             // of the monitor as a whole
    service_report service;
    std::string mode; // "service", "monitor" or "blocking"
    std::string why;
    std::string remedy;
};

std::string kernel_release() {
    utsname name{};
    uname(&name);
    return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

constexpr const char *what_waiters_do = ": FlexGuard's waiters spin while every lock holder runs";

// The only sure way to know whether the monitor works is to load it.
void try_monitor(findings &found) {
    session session;
    found.service = session.service();
    found.left_out = session.left_out();
    found.refusal_log = session.refusal_log();
    if (session.uses_service()) {
        found.mode = "service";
        found.why = found.service.sentence + what_waiters_do;
        return;
    }
    if (session.has_monitor()) {
        found.mode = "monitor";
        found.why = fmt::format("the Preemption Monitor loads and runs{}{}",
                                found.left_out.empty() ? "" : ", but for what is named above", what_waiters_do);
        return;
    }
    found.mode = "blocking";
    found.why = "there is no Preemption Monitor, so waiters block, as glibc's do, "
                "but for locks that are released all the time: " +
                session.why_no_monitor();
    for (const auto &capability : found.capabilities) {
        if (!capability.present && capability.for_monitor && found.remedy.empty())
            found.remedy = capability.remedy;
    }
}

findings examine() {
    findings found;
    found.kernel = kernel_release();
    found.cpus = std::thread::hardware_concurrency();
    if (hf_cpu_limit_millis != HF_NO_CPU_LIMIT)
        found.cpu_limit = hf_cpu_limit_millis / 1000.0;
    try {
        found.interposer = preloadable_library().string();
    } catch (const failure &problem) {
        found.why_no_interposer = problem.what();
    }
    found.objects = find_object_fits();
    found.capabilities = find_capabilities();
    try_monitor(found);
    return found;
}

void print_row(bool present, const std::string &title, const std::string &detail, const std::string &remedy = "") {
    fmt::print("  {:<4} {:<46} {}\n", present ? "yes" : "no", title, detail);
    if (!remedy.empty())
        fmt::print("       {:<46} {}\n", "", remedy);
}

void print_log(const std::string &title, const std::string &log) {
    if (!log.empty())
        fmt::print("\nwhat the kernel said of {}:\n{}\n", title, log);
}

void print_logs(const findings &found) {
    print_log("the Preemption Monitor", found.refusal_log);
    for (const auto &each : found.left_out)
        print_log(each.part.title, each.log);
    for (const auto &capability : found.capabilities)
        print_log(capability.title, capability.log);
}

bool may_come(service_report::state is) {
    using enum service_report::state;
    return is == absent || is == dead || is == silent;
}

void print(const findings &found) {
    fmt::print("holdfast {} on {}, {} CPUs\n\n", hf_version(), found.kernel, found.cpus);
    for (const auto &capability : found.capabilities)
        print_row(capability.present, capability.title, capability.detail, capability.remedy);
    for (const auto &each : found.left_out)
        print_row(false, fmt::format("monitor: {}", each.part.title), each.part.without, each.why);
    print_row(!found.interposer.empty(), "interposer",
              found.interposer.empty() ? found.why_no_interposer : found.interposer);
    std::string left = about_objects_left(found.objects);
    print_row(left.empty(), "room in the C library's objects",
              left.empty() ? "all are laid out as known: " + name_of_c_library() : left);
    fmt::print("\nservice: {}\n  {}\n", name_of(found.service.is), found.service.sentence);
    if (may_come(found.service.is))
        fmt::print("  programs that are preloaded already look for it again, less and less often\n");
    fmt::print("mode: {}\n  {}\n", found.mode, found.why);
    if (found.cpu_limit)
        fmt::print("  but CPU time is limited to {:.3g} CPUs here (cgroups), which pollers would use up: of a program "
                   "with more threads waiters sleep\n",
                   *found.cpu_limit);
    if (!found.remedy.empty())
        fmt::print("  for better: {}\n", found.remedy);
    else
        fmt::print("  next: what would change for a program of yours? holdfast doctor -- PROGRAM\n");
}

void print_json(const findings &found, bool with_logs) {
    nlohmann::ordered_json out;
    out["version"] = hf_version();
    out["kernel"] = found.kernel;
    out["cpus"] = found.cpus;
    out["cpu_limit"] = found.cpu_limit ? nlohmann::ordered_json(*found.cpu_limit) : nlohmann::ordered_json();
    out["interposer"] = found.interposer.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(found.interposer);
    out["why_no_interposer"] = found.why_no_interposer;
    out["objects"] = {{"fit", found.objects}, {"detail", about_objects_left(found.objects)}};
    for (const auto &capability : found.capabilities)
        out["capabilities"][capability.name] = {
            {"present", capability.present}, {"detail", capability.detail}, {"remedy", capability.remedy}};
    out["left_out"] = nlohmann::ordered_json::array();
    for (const auto &each : found.left_out)
        out["left_out"].push_back(
            {{"part", each.part.name}, {"title", each.part.title}, {"without", each.part.without}, {"why", each.why}});
    if (with_logs)
        out["log"] = found.refusal_log;
    out["service"] = {{"state", name_of(found.service.is)},
                      {"socket", service_socket()},
                      {"version", found.service.status.holdfast_version},
                      {"detail", found.service.sentence}};
    out["mode"] = found.mode;
    out["why"] = found.why;
    out["remedy"] = found.remedy;
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// What the program is called may be meant to command a terminal.
void print(const program_examination &found) {
    auto shown = [](const std::string &name) { return with_controls_shown(name); };
    fmt::print("{}{}{}, with {} libraries: {}\n  {}\n", found.called.empty() ? "" : shown(found.called) + " -> ",
               found.script.empty() ? "" : shown(found.script) + ", run by ", shown(found.program.string()),
               found.libraries, name_of(found.is), shown(found.why));
    for (const auto &[kind, functions] : found.replaced)
        fmt::print("  {:<8} {}\n", kind, fmt::join(functions, " "));
    for (const auto &note : found.notes)
        fmt::print("  note: {}\n", shown(note));
    if (found.is == program_examination::verdict::helped)
        fmt::print("  next: is it faster? holdfast compare -- {} ARGUMENT...\n", shown(found.program.string()));
}

void print_json(const program_examination &found) {
    nlohmann::ordered_json out;
    out["program"] = found.program.string();
    out["script"] = found.script.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(found.script);
    out["called"] = found.called.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(found.called);
    out["libraries"] = found.libraries;
    out["verdict"] = name_of(found.is);
    out["why"] = found.why;
    out["replaced"] = found.replaced;
    out["notes"] = found.notes;
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

int tell_of(const program_examination &found, bool json) {
    if (json)
        print_json(found);
    else
        print(found);
    bool helped =
        found.is == program_examination::verdict::helped || found.is == program_examination::verdict::helped_now;
    return helped ? exit_ok : exit_some_failed;
}

std::string share_or_unknown(std::optional<double> share) {
    return share ? fmt::format("{:.2g}%", 100 * *share) : "nothing";
}

void print(const contention &watched, const contention_finding &found) {
    fmt::print("\nwatched for {:.3g} s: {:.0f} threads on {:.0f} CPUs\n", watched.seconds, watched.threads,
               watched.cpus_allowed);
    fmt::print("  CPUs used {:.2f}, threads that waited for one {:.2f}; threads left theirs {} times a second\n",
               watched.cpus_used, watched.cpus_lacked, format_count(watched.switches_per_s));
    if (watched.acquisitions_per_s)
        fmt::print("  locks taken {}/s, of which {} found the lock held; of the waiting {} was spun\n",
                   format_count(*watched.acquisitions_per_s), share_or_unknown(watched.contended_share),
                   share_or_unknown(watched.spun_share));
    if (watched.waiters)
        fmt::print("  threads that waited for locks {:.2f}: {} waits/s, {} on average{}\n", *watched.waiters,
                   format_count(*watched.waits_per_s),
                   watched.mean_wait_ns ? format_duration_ns(*watched.mean_wait_ns) : "-",
                   watched.acquisitions_per_s ? "" : ", of those that slept");
    for (const contention::unlike_wait &each : watched.of_its_own)
        fmt::print("  threads that waited for {} {:.2f}: {} waits/s{}\n", each.name, each.waiters,
                   format_count(each.waits_per_s), each.is_lock ? "" : "; it may be a lock, a condition or a queue");
    if (watched.other_sleeps_per_s)
        fmt::print("  other sleeps in futexes (conditions, joins, timers) {}/s\n",
                   format_count(*watched.other_sleeps_per_s));
    fmt::print("verdict: {}: {}\n", name_of(found.is), with_controls_shown(found.sentence));
}

nlohmann::ordered_json json_of(const contention &watched, const contention_finding &found) {
    auto or_null = [](std::optional<double> value) {
        return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
    };
    nlohmann::ordered_json of_its_own = nlohmann::ordered_json::array();
    for (const contention::unlike_wait &each : watched.of_its_own)
        of_its_own.push_back({{"name", each.name},
                              {"where", each.where},
                              {"is_lock", each.is_lock},
                              {"waits_per_s", each.waits_per_s},
                              {"waiters", each.waiters}});
    return {{"seconds", watched.seconds},
            {"threads", watched.threads},
            {"cpus_allowed", watched.cpus_allowed},
            {"cpus_used", watched.cpus_used},
            {"cpus_lacked", watched.cpus_lacked},
            {"switches_per_s", watched.switches_per_s},
            {"waits_per_s", or_null(watched.waits_per_s)},
            {"waiters", or_null(watched.waiters)},
            {"mean_wait_ns", or_null(watched.mean_wait_ns)},
            {"other_sleeps_per_s", or_null(watched.other_sleeps_per_s)},
            {"acquisitions_per_s", or_null(watched.acquisitions_per_s)},
            {"contended_share", or_null(watched.contended_share)},
            {"spun_share", or_null(watched.spun_share)},
            {"of_its_own", std::move(of_its_own)},
            {"why_not_seen", watched.why_not_seen},
            {"verdict", name_of(found.is)},
            {"why", found.sentence}};
}

int watch(const doctor_options &options) {
    program_examination examined = examine_process(*options.pid);
    contention watched = watch_contention(*options.pid, *options.watch_s);
    contention_finding found = judge(watched, examined, *options.pid);
    if (options.json) {
        fmt::print("{}\n",
                   json_of(watched, found).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else {
        print(examined);
        print(watched, found);
    }
    return found.is == contention_verdict::may_help || found.is == contention_verdict::helps_now ? exit_ok
                                                                                                 : exit_some_failed;
}

int doctor(const doctor_options &options) {
    if (options.watch_s && !options.pid)
        throw usage_error("which process is to be watched? Give --pid, too");
    if (options.pid && !options.program.empty())
        throw usage_error("examine either a program or a process: give --pid or the program's name");
    if (options.watch_s)
        return watch(options);
    if (options.pid)
        return tell_of(examine_process(*options.pid), options.json);
    if (!options.program.empty())
        return tell_of(examine_program(options.program.front()), options.json);
    findings found = examine();
    if (options.json)
        print_json(found, options.verbose);
    else
        print(found);
    if (options.verbose && !options.json)
        print_logs(found);
    return found.mode != "blocking" && !found.interposer.empty() ? exit_ok : exit_some_failed;
}

} // namespace

void add_doctor(CLI::App &app, action &chosen) {
    auto options = std::make_shared<doctor_options>();
    CLI::App *verb = app.add_subcommand("doctor", "Tell what this machine offers and how programs will wait for locks");
    verb->add_flag("--json", options->json, "Print for machines");
    verb->add_flag("--verbose", options->verbose, "Print all that the kernel says of BPF programs that it refuses");
    verb->add_option("--pid", options->pid, "Examine this process instead")
        ->type_name("PID")
        ->check(from_to(1, std::numeric_limits<pid_t>::max()));
    verb->add_option("--watch", options->watch_s,
                     "With --pid: watch it for so long: does it wait for locks at all, and would Holdfast help?")
        ->type_name("S")
        ->check(from_to(0.1, 3600.0));
    verb->add_option("program", options->program, "Examine this program instead; it is not run")
        ->type_name("PROG ARG...");
    verb->footer(
        "Exit status: 0 when programs will be informed by the monitor, or the program would be helped (with --watch:\n"
        "it waits for locks, and Holdfast may help or does); 1 when not;\n"
        "2 when the command line is wrong; 125 when there is no such process; 126 or 127 when the program can't be\n"
        "executed or found.\n\n"
        "Examples:\n"
        "  holdfast doctor\n"
        "  sudo holdfast doctor\n"
        "  holdfast doctor --json | jq .mode\n"
        "  sudo holdfast doctor --verbose      (for a report of what your kernel refuses)\n"
        "  holdfast doctor -- ./server --threads 64\n"
        "  holdfast doctor --pid 1234\n"
        "  sudo holdfast doctor --pid 1234 --watch 10");
    verb->callback([options, &chosen] { chosen = [options] { return doctor(*options); }; });
}

} // namespace holdfast::cli
