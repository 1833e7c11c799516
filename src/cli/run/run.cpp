// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast run: an unmodified program with Holdfast's lock under its mutexes.
#include <CLI/CLI.hpp>
#include <array>
#include <fmt/core.h>
#include <memory>
#include <span>
#include <unistd.h>

#include "base/cpu_limit.h"
#include "cli/common/exit_status.hpp"
#include "cli/common/options.hpp"
#include "cli/common/say.hpp"
#include "cli/common/say_count.hpp"
#include "cli/start/child.hpp"
#include "cli/start/ending.hpp"
#include "cli/start/invoker.hpp"
#include "cli/start/program_examination.hpp"
#include "cli/start/session.hpp"
#include "cli/start/spinning.hpp"
#include "cli/symbols/object_fit.hpp"
#include "cli/verbs.hpp"
#include "config/policy_text.h"
#include "park/slice_request.h"

namespace holdfast::cli {
namespace {

struct run_options {
    interposition wanted;
    bool as_root = false;
    bool require_monitor = false;
    std::vector<std::string> program;
};

// Those of waiting threads.
void print_steps(const thread_sums &counters) {
    constexpr std::array<const char *, HF_COUNTED_SLICE_GIVEN_BACK> names{
        "sleepers announced",         "yields to own threads", "sleeps for other programs",
        "sleeps as designated waker", "turns that ended",      "claims of long waits"};
    for (std::size_t step = 0; step < names.size(); step++) {
        if (counters.steps[step] > 0)
            say_count(names[step], counters.steps[step]);
    }
}

std::string what_matched(const lock_rule &rule, std::uint64_t matched) {
    if (matched == 0)
        return fmt::format("nothing: no {} at that place was initialised or used", rule.kind);
    const char *plural = rule.kind == "mutex" ? "es" : "s";
    return fmt::format("{} {}{}", matched, rule.kind, matched == 1 ? "" : plural);
}

void print_rules(const session &session, const std::vector<lock_rule> &rules) {
    auto matched = session.rule_matches();
    for (const lock_rule &each : rules)
        say("  {:<36}  matched {}\n", fmt::format("rule {}:{}", each.name, each.lock),
            what_matched(each, matched[each.name]));
}

std::string monitor_met(const session &session) {
    if (!session.has_monitor())
        return "none, waiters blocked: " + session.why_no_monitor();
    std::uint32_t left_out = 0;
    for (const left_out_part &each : session.left_out())
        left_out |= each.part.bit;
    return std::string(session.uses_service() ? "the service" : "on") +
           (left_out ? fmt::format(", without {}: see 'holdfast doctor'", names_of_parts(left_out)) : "");
}

void print_counters(const session &session, const std::string &lock) {
    say("holdfast: lock {}; monitor: {}\n", lock, monitor_met(session));
    thread_sums counters = session.counters();
    say_count("acquisitions", counters.acquisitions);
    say_count("contended", counters.contended);
    say_count("spun", counters.spun);
    say_count("blocked", counters.blocked);
    say_count("mode switches", counters.mode_switches);
    print_steps(counters);
    if (session.has_monitor() && counters.met_no_monitor > 0)
        say("  processes that met no monitor when they started: {}, of which {} met it later\n",
            counters.met_no_monitor, counters.met_it_later);
    if (counters.short_of_memory > 0)
        say("  processes that were refused memory for statistics (limits, mlockall, vm.overcommit_memory): {}; not all "
            "that they did was counted\n",
            counters.short_of_memory);
    if (counters.bound_apart > 0)
        say("  libraries with bindings of their own (RTLD_DEEPBIND, dlmopen): condition variables, and reader-writer "
            "locks made since, are glibc's; if such a library uses older ones, run with --conf rwlock:glibc\n");
}

void print_monitor_totals(const session &session) {
    if (session.uses_service())
        say("  of all programs on this machine meanwhile:\n");
    hf_monitor_status totals = session.monitor_totals();
    if (!session.uses_service() && totals.refusals_total > 0)
        say_count("requests refused", totals.refusals_total);
    say_count("critical sections preempted", totals.preemptions_total);
    say_count("critical sections that slept", totals.sleeps_total);
    if (totals.unreadable_total > 0)
        say_count("threads that could not be looked at", totals.unreadable_total);
    if (totals.unseen_switches_total > 0)
        say_count("switches hidden by the kernel", totals.unseen_switches_total);
    if (totals.switch_storms_total > 0)
        say_count("seconds of too many switches", totals.switch_storms_total);
}

// Of a program that took none of our locks, as far as we were told: why that may be.
std::string why_nothing_was_counted(const std::string &program) {
    using verdict = program_examination::verdict;
    try {
        program_examination found = examine_program(program);
        if (found.is == verdict::not_preloaded || found.is == verdict::passed_on)
            return fmt::format("{}: {}", found.program.string(), found.why);
    } catch (const failure &) { // it has run, and is gone
    }
    return "the program took no lock that Holdfast replaces, or was not seen: a network namespace of its own "
           "(unshare -n) hides the socket of 'holdfast run', but not that of a service ('holdfast monitor')";
}

// They go on, without what ends with us.
void print_who_stays(const session &session) {
    std::uint64_t left = session.registered_processes();
    if (left > 0 && !session.uses_service())
        say("  processes left behind: {}; their waiters block from now on, and would not under a service ('holdfast "
            "monitor')\n",
            left);
}

// For a person at a terminal, without --stats: rules that are misspelt, and what the program did without. A program
// that ends before its monitor could be there is not worth a word.
void print_what_was_amiss(const session &session, const std::vector<lock_rule> &rules) {
    if (session.is_settled() && !session.has_monitor())
        say("holdfast: it ran without a monitor, so its waiters blocked as glibc's do, "
            "but for locks that are released all the time: {}: see 'holdfast doctor'\n",
            session.why_no_monitor());
    if (rules.empty())
        return;
    auto matched = session.rule_matches();
    for (const lock_rule &each : rules) {
        if (matched[each.name] == 0)
            say("holdfast: the rule {}:{} matched no lock: check the name (of C++, as in 'nm -C' without arguments, or "
                "mangled)\n",
                each.name, each.lock);
    }
}

bool asks_for_longer_slices(const std::string &conf) {
    hf_policy_text policy{};
    std::array<char, 512> complaint{};
    if (!hf_policy_text_read(conf.c_str(), &policy, complaint.data(), complaint.size()))
        return false; // the program's own complaint says it
    bool asks = policy.value[HF_OBJECT_MUTEX].parameters.slice_extension;
    for (const hf_policy_rule &rule : std::span(policy.rule).first(policy.rules))
        asks |= rule.value.parameters.slice_extension;
    return asks;
}

void print_slices(std::uint64_t given_back) {
    if (hf_slices_can_be_extended())
        say_count("time slices given back", given_back);
    else
        say("  time slices are not extended: it needs Linux 7.0 or later with CONFIG_RSEQ_SLICE_EXTENSION\n");
}

// What to do next, from what the locks did.
std::string verdict_on(const thread_sums &counters, bool has_monitor) {
    constexpr double little = 0.001, much = 0.02;
    double share = static_cast<double>(counters.contended) / static_cast<double>(counters.acquisitions);
    std::string what = fmt::format("{:.2g}% of the acquisitions found the lock held", 100 * share);
    if (share < little)
        return what + ": others would change little, unless these few waited for long: while it runs, 'holdfast doctor "
                      "--pid PID --watch 10' tells";
    std::string next = has_monitor ? "" : "; with a monitor waiters could spin: see 'holdfast doctor'";
    if (share < much)
        return what + ": look at 'holdfast top' under load before you decide" + next;
    return what + ": measure it with 'holdfast compare --rounds 7'" + next;
}

void print_stats(const session &session, const run_options &options, const std::vector<lock_rule> &rules) {
    print_counters(session, options.wanted.lock);
    if (session.counters().acquisitions == 0)
        say("  nothing was counted: {}\n", why_nothing_was_counted(options.program.front()));
    if (hf_cpu_limit_millis != HF_NO_CPU_LIMIT)
        say("  CPU time is limited to {:.3g} CPUs: of more threads waiters slept rather than polled\n",
            hf_cpu_limit_millis / 1000.0);
    if (asks_for_longer_slices(options.wanted.conf))
        print_slices(session.counters().steps[HF_COUNTED_SLICE_GIVEN_BACK]);
    if (session.has_monitor())
        print_monitor_totals(session);
    print_rules(session, rules);
    if (std::string left = about_objects_left(find_object_fits()); !left.empty())
        say("  {}\n", left);
    print_who_stays(session);
    if (session.counters().acquisitions != 0)
        say("verdict: {}\n", verdict_on(session.counters(), session.has_monitor()));
}

ending run_as_it_is(const run_options &options, const std::optional<invoker> &user) {
    ending end = run_child(options.program, environment_without_holdfast(), user);
    if (options.wanted.stats)
        say("holdfast: lock glibc: the program ran as it is, nothing was counted\n");
    return end;
}

void insist_on_monitor(const session &session, const run_options &options) {
    if (options.require_monitor && !session.has_monitor())
        throw failure(fmt::format("there is no monitor, which --require-monitor asks for: {}: see 'holdfast doctor'",
                                  session.why_no_monitor()));
}

// The program has ended: what can't be told of it does not change how.
void tell_what_was(const session &session, const run_options &options, const std::vector<lock_rule> &rules,
                   const spin_watch *spinning) {
    try {
        if (options.wanted.stats && spinning)
            print_spinning(spinning->totals());
        if (options.wanted.stats)
            print_stats(session, options, rules);
        else if (isatty(STDERR_FILENO))
            print_what_was_amiss(session, rules);
    } catch (const std::exception &error) {
        say("holdfast: no more can be told of it: {}\n", sentence_of(error));
    }
}

ending run(run_options &options) {
    if (options.program.empty())
        throw usage_error("there is no program to run: put it after --, as in 'holdfast run -- ./server'");
    options.wanted.lock = lock_meant(options.wanted.lock, lock_names());
    std::vector<lock_rule> rules = rules_in(options.wanted.conf);
    std::optional<invoker> user = options.as_root ? std::nullopt : invoker_before_sudo();
    if (options.wanted.leaves_program_as_it_is())
        return run_as_it_is(options, user);
    if (std::string why = why_interposer_stops(options.program.front()); !why.empty()) {
        say("holdfast: {}: it runs as it is\n", why);
        return run_as_it_is(options, user);
    }
    // A program that is counted is counted from its start.
    using comes = session::monitor_comes;
    bool waits = options.wanted.stats || options.require_monitor;
    auto with = std::make_unique<session>(waits ? comes::first : comes::when_needed);
    insist_on_monitor(*with, options);
    with->watch_rules(rules);
    std::unique_ptr<spin_watch> spinning;
    if (options.wanted.handles_yields)
        spinning = watch_spinning(options.wanted.stats ? spin_watch::detector_comes::first
                                                       : spin_watch::detector_comes::when_needed);
    options.wanted.handles_yields = spinning != nullptr;
    ending end = run_child(options.program, with->preload_environment(options.wanted), user);
    tell_what_was(*with, options, rules, spinning.get());
    if (!with->is_loading())
        return end;
    // The kernel ends what loads, and takes back what is loaded.
    with->hurry_loading();
    [[maybe_unused]] session *still_loading = with.release();
    return end.at_once();
}

} // namespace

void add_run(CLI::App &app, action &chosen) {
    auto options = std::make_shared<run_options>();
    CLI::App *verb =
        app.add_subcommand("run", "Run an unmodified pthread program with Holdfast's lock under its mutexes");
    verb->add_option("--lock", options->wanted.lock,
                     "The lock of mutexes: default, glibc (the program as it is), or one by name")
        ->type_name("NAME")
        ->capture_default_str();
    verb->add_option(
            "--conf", options->wanted.conf,
            "What to do with which objects: mutex, cond, rwlock, spin and barrier may be 'flexguard' or\n"
            "'glibc', a mutex any lock, a rwlock also 'rw-scl', some with parameters:\n"
            "'mutex:u-scl(slice=2ms)'; mutex@NAME and rwlock@NAME are the one of that name, or those that the\n"
            "function or library of that name initialises; counts more than --lock")
        ->type_name("KIND:LOCK,...")
        ->envname(HF_CONF_VARIABLE);
    verb->add_flag("--stats", options->wanted.stats, "Print what the locks did to stderr when the program has ended");
    verb->add_flag("--creation-sites", options->wanted.creation_sites,
                   "Note where locks are initialised, for 'holdfast top' to name those that have no name");
    verb->add_flag("--detect-spinning", options->wanted.handles_yields,
                   "Make threads yield that spin in loops of the program's own while others want their CPU:\n"
                   "needs the right to load BPF, as the monitor does; found by sampling");
    verb->add_flag("--require-monitor", options->require_monitor,
                   "Do not start the program without a Preemption Monitor");
    add_program(*verb, options->as_root, options->program);
    verb->footer(
        "Everything from the program's name on, or after --, is the program and its arguments. It behaves and ends\n"
        "as without holdfast: with the program's exit status, or by the signal that ended it; 2 for a mistake on\n"
        "the command line; 125 when holdfast failed; 126 when the program can't be executed; 127 when there is no\n"
        "such program.\n\n"
        "Examples:\n"
        "  holdfast run -- ./server --threads 64\n"
        "  holdfast run --stats --lock blocking -- ./server\n"
        "  holdfast run --conf rwlock:glibc,barrier:glibc -- ./server\n"
        "  holdfast run --conf 'mutex@store_mutex:u-scl(slice=500us)' -- ./store\n"
        "  sudo holdfast run -- ./server       (the monitor needs root; the server runs as you)");
    verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

} // namespace holdfast::cli
