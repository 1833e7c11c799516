// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast oversub: programs with more threads than CPUs, under a scheduler that blocks their waiters virtually.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <memory>
#include <optional>
#include <poll.h>

#include "cli/common/exit_status.hpp"
#include "cli/common/interruption.hpp"
#include "cli/common/options.hpp"
#include "cli/common/say.hpp"
#include "cli/common/say_count.hpp"
#include "cli/oversub/scheduler_keeper.hpp"
#include "cli/start/child.hpp"
#include "cli/start/invoker.hpp"
#include "cli/start/session.hpp"
#include "cli/start/spinning.hpp"
#include "cli/verbs.hpp"
#include "monitor/wait_loop.hpp"

namespace holdfast::cli {
namespace {

struct oversub_options {
    scheduled_threads whose;
    std::string cgroup;
    interposition wanted;
    bool stats = false;
    bool as_root = false;
    std::vector<std::string> program;
};

std::string why_not_here() {
    if (std::string why = why_sched_ext_is_of_no_use(); !why.empty())
        return why;
    std::string other = scheduler_in_place();
    if (other.empty())
        return "";
    return is_oversubscription_scheduler_in_place()
               ? "the oversubscription scheduler is in place already, of another 'holdfast oversub'"
               : fmt::format("another sched_ext scheduler is in place, {}: end it first", other);
}

// Throws scheduler_unavailable.
std::unique_ptr<scheduler_keeper> keep_scheduler(const oversub_options &options) {
    if (std::string why = why_not_here(); !why.empty())
        throw scheduler_unavailable(why, "");
    return std::make_unique<scheduler_keeper>(options.whose);
}

void print_totals(const scheduler_keeper &keeper, const oversub_options &options) {
    hf_scheduler_totals totals = keeper.totals();
    say("holdfast: oversubscription scheduler\n");
    say_count("waits blocked virtually", totals.blocked);
    say_count("waits left to the kernel", totals.left_asleep);
    say_count("ended by a wake", totals.woken);
    say_count("ended by a signal", totals.interrupted);
    say_count("sent to sleep after a while", totals.expired);
    say_count("lock holders' longer turns", totals.longer);
    say_count("holders that went first", totals.first);
    if (options.whose.detect_spinning)
        print_spinning(keeper.spinning());
}

ending run_program(const oversub_options &options) {
    std::optional<invoker> user = options.as_root ? std::nullopt : invoker_before_sudo();
    std::unique_ptr<scheduler_keeper> keeper;
    try {
        keeper = keep_scheduler(options);
    } catch (const scheduler_unavailable &unavailable) {
        say("holdfast: the program runs without the oversubscription scheduler: {}\n", unavailable.what());
    }
    session session;
    interposition wanted = options.wanted;
    std::unique_ptr<spin_watch> spinning;
    if (!keeper && options.whose.detect_spinning)
        spinning =
            watch_spinning(options.stats ? spin_watch::detector_comes::first : spin_watch::detector_comes::when_needed);
    wanted.handles_yields = spinning != nullptr;
    if (keeper || is_oversubscription_scheduler_in_place())
        ask_for_scheduler(0); // what we start inherits it
    ending end = run_child(options.program, session.preload_environment(wanted), user);
    if (options.stats && spinning)
        print_spinning(spinning->totals());
    if (!keeper)
        return end;
    if (std::string why = keeper->why_gone(); !why.empty())
        say("holdfast: the scheduler was thrown out, and the program went on under the kernel's own: {}\n", why);
    if (options.stats)
        print_totals(*keeper, options);
    return end;
}

ending keep_until_interrupted(const oversub_options &options) {
    interruption interruption;
    std::unique_ptr<scheduler_keeper> keeper;
    try {
        keeper = keep_scheduler(options);
    } catch (const scheduler_unavailable &unavailable) {
        throw failure(unavailable.what());
    }
    constexpr int look_every_ms = 500;
    while (!interruption.requested()) {
        if (std::string why = keeper->why_gone(); !why.empty())
            throw failure(fmt::format("the kernel has thrown the scheduler out: {}", why));
        pollfd interrupted{.fd = interruption.fd(), .events = POLLIN, .revents = 0};
        poll(&interrupted, 1, look_every_ms);
    }
    if (options.stats)
        print_totals(*keeper, options);
    return exit_ok;
}

void detect_where_possible(scheduled_threads &whose) {
    auto why_not = whose.detect_spinning ? why_no_wait_loops() : std::nullopt;
    if (!why_not)
        return;
    say_why_spinning_is_not_detected(*why_not);
    whose.detect_spinning = false;
}

ending oversub(oversub_options &options) {
    options.wanted.lock = lock_meant(options.wanted.lock, lock_names());
    options.whose.cgroup = options.cgroup;
    detect_where_possible(options.whose);
    std::error_code error;
    if (!options.cgroup.empty() && !std::filesystem::exists(options.whose.cgroup / "cgroup.procs", error))
        throw usage_error(fmt::format("'{}' is no cgroup: name a directory below /sys/fs/cgroup", options.cgroup));
    if (!options.program.empty())
        return run_program(options);
    if (!options.whose.all && !options.whose.are_looked_for())
        throw usage_error("there is nothing to schedule: name a program after --, or use --name, --cgroup or --all");
    return keep_until_interrupted(options);
}

} // namespace

void add_oversub(CLI::App &app, action &chosen) {
    auto options = std::make_shared<oversub_options>();
    CLI::App *verb = app.add_subcommand(
        "oversub", "Run programs with more threads than CPUs under a scheduler that blocks waiters virtually");
    CLI::Option *all = verb->add_flag("--all", options->whose.all, "Schedule all threads of this machine");
    verb->add_option("--name", options->whose.programs, "Schedule the threads of programs that run under this name")
        ->type_name("NAME,...")
        ->delimiter(',')
        ->excludes(all);
    verb->add_option("--cgroup", options->cgroup, "Schedule the threads of this cgroup and those below it")
        ->type_name("DIR")
        ->excludes(all);
    verb->add_flag("--detect-spinning", options->whose.detect_spinning,
                   "Put threads that spin while others want their CPU behind those, for one round; found by\n"
                   "sampling");
    verb->add_flag("--holders-as-others", options->whose.holders_as_others,
                   "End the turns of threads that hold a lock as all others', not some 50 us later");
    verb->add_option("--lock", options->wanted.lock, "The lock of mutexes, as in 'holdfast run'")
        ->type_name("NAME")
        ->capture_default_str();
    verb->add_flag("--stats", options->stats, "Print what the scheduler did to stderr at the end");
    add_program(*verb, options->as_root, options->program);
    verb->footer("Needs root, and a kernel with sched_ext. Without, the program runs as under 'holdfast run'.\n"
                 "Without a program it schedules until it is interrupted. Its waiters are blocked virtually if they\n"
                 "were started by 'holdfast run' under the scheduler.\n\n"
                 "Examples:\n"
                 "  sudo holdfast oversub -- ./server --threads 64\n"
                 "  sudo holdfast oversub --detect-spinning -- ./pipeline-with-its-own-spinlocks\n"
                 "  sudo holdfast oversub --cgroup /sys/fs/cgroup/batch\n"
                 "  sudo holdfast oversub --all");
    verb->callback([options, &chosen] { chosen = [options] { return oversub(*options); }; });
}

} // namespace holdfast::cli
