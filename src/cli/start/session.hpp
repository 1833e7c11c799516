// SPDX-License-Identifier: MIT OR Apache-2.0
// What every verb that starts programs needs: a monitor (the machine's service, or else one of its own if there can be
// one), a server for the programs to meet it, and the environment that makes an unmodified program use a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/start/spare_time_work.hpp"
#include "monitor/client/service_report.hpp"
#include "monitor/monitor.hpp"
#include "monitor/server/monitor_server.hpp"

namespace holdfast::cli {

using environment = std::vector<std::pair<std::string, std::string>>;

// What the interposer is to do in an unmodified program.
struct interposition {
    std::string lock = "default"; // of its mutexes: a name of lock_list.def, "default" or "glibc"
    std::string conf;             // of its other objects too, as config/policy_text.h reads it
    bool stats = false;
    bool creation_sites = false; // noted
    bool meets_monitor = true;   // where there is one

    bool handles_yields = false; // the signal of busy-waiting detection

    bool leaves_program_as_it_is() const { return lock == "glibc" && conf.empty() && !handles_yields; }
};

// What a conf says of single locks.
struct lock_rule {
    std::string kind; // of object
    std::string name; // "mutex@db_lock"
    std::string lock;
};

// Variables for a program that runs as it is; none, unless this holdfast was started by another one.
environment environment_without_holdfast();

class session {
public:
    // Starts the monitor where that is possible; where it isn't, the session works without one and can say why.
    session() : session(monitor_comes::first) {}

    // When needed: programs can be started at once, and the monitor is loaded when one of them asks for it a second
    // time, which it does when its threads sleep for locks. Most programs never do, and are spared the 20 ms of CPU
    // time that loading takes. Loading uses time that the program leaves, and its CPUs once it has gone on for long.
    // Programs register once the monitor is there (hint/registration.h); until then their waiters block. What is said
    // of the monitor, and of what it has counted, is not to be asked for.
    enum class monitor_comes { first, when_needed };
    explicit session(monitor_comes when);
    // Is it known whether there is a monitor?
    bool is_settled() const { return state_ == state::settled; }
    // The session takes as long to be destroyed as loading takes.
    bool is_loading() const { return state_ == state::loading; }
    // What loads does not wait for CPU time that nobody else wants any more: a process ends with its last thread.
    void hurry_loading() { loading_.hurry(); }
    ~session() { loading_.end(); }

    bool has_monitor() const { return uses_service() || monitor_; }
    bool uses_service() const { return service_.is == service_report::state::running; }
    const service_report &service() const { return service_; }
    // One sentence; empty with a monitor.
    const std::string &why_no_monitor() const { return why_no_monitor_; }
    // And all that the kernel has said of it.
    const std::string &refusal_log() const { return refusal_log_; }
    // What the session's own monitor, or the service's, has to do without; of a service's, not why.
    std::vector<left_out_part> left_out() const;
    // What the programs' locks have counted, if they were told to.
    thread_sums counters() const { return server_->counters(); }
    // How many locks these rules matched in the programs, by their names; to be watched before there are programs.
    void watch_rules(const std::vector<lock_rule> &rules);
    std::map<std::string, std::uint64_t> rule_matches() const { return server_->rule_matches(); }
    // The monitor's totals since the session began. A service's are of all programs on the machine.
    hf_monitor_status monitor_totals() const;

    // Of those that registered with the session's own monitor: how many run.
    std::uint64_t registered_processes() const { return monitor_ ? server_->count_registered() : 0; }

    // Variables that let a program that is linked with Holdfast find the monitor.
    environment native_environment() const;
    // Variables that do so, LD_PRELOAD included; those of environment_without_holdfast() where the program is to run as
    // it is. Throws failure when the interposer lies where ld.so can't be told of it.
    environment preload_environment(const interposition &wanted) const;

private:
    enum class state : std::uint8_t { not_needed, loading, settled };

    void make_monitor();
    void load_monitor();

    service_report service_;           // as it was at the beginning
    spare_time_work loading_;          // outlives the server, whose thread begins it
    std::unique_ptr<monitor> monitor_; // outlives the server
    std::unique_ptr<monitor_server> server_;
    std::string why_no_monitor_;
    std::string refusal_log_;
    std::atomic<state> state_ = state::settled;
};

// All lock names that a user may give: "glibc", "default", and the ones of lock_list.def.
std::vector<std::string> lock_names();
// The one of `known` that the user means, by its name or by another spelling of it ("u-scl"). Throws usage_error where
// there is none, with a sentence that lists them; `kind` is what they are called there.
std::string lock_meant(const std::string &name, const std::vector<std::string> &known, const char *kind = "lock");
// The rules of a --conf. Throws usage_error with a sentence that says what is wrong with it.
std::vector<lock_rule> rules_in(const std::string &conf);

} // namespace holdfast::cli
