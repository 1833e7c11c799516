// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <optional>
#include <span>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "cli/common/exit_status.hpp"
#include "cli/common/install.hpp"
#include "cli/common/nearest_name.hpp"
#include "cli/start/invoker.hpp"
#include "config/policy_text.h"
#include "hint/registration.h"
#include "hint/yield_handler.h"
#include "lock/lock_table.h"
#include "observe/creation_sites.h"
#include "oversub/scheduler.hpp"
#include "park/virtual_wait.h"

namespace holdfast::cli {
namespace {

// What is preloaded as it is, but for our library, which an outer holdfast may have put there.
std::string preloaded_by_others(const std::string &library) {
    const char *before = std::getenv("LD_PRELOAD");
    std::istringstream entries(before ? before : "");
    std::string others, entry;
    while (std::getline(entries, entry, ':')) {
        if (!entry.empty() && entry != library)
            others += (others.empty() ? "" : ":") + entry;
    }
    return others;
}

// Ours goes last: what others preload to see the program's locks (mutrace) calls the next function of its name, which
// ours does not.
std::string preload_with(const std::string &library) {
    std::string others = preloaded_by_others(library);
    return others.empty() ? library : others + ":" + library;
}

// A program that AddressSanitizer watches refuses to run with a library before the sanitizer's own, unless it is told
// that this is all right, which it is: ours brings no allocator. Other programs don't look at this.
std::string asan_options() {
    const char *before = std::getenv("ASAN_OPTIONS");
    return std::string(before && *before ? before : "") + (before && *before ? ":" : "") + "verify_asan_link_order=0";
}

} // namespace

namespace {

// The service, if the programs can use it too: under sudo they run as another user than we ask as.
service_report service_for_programs() {
    service_report report = ask_service(service_socket(), HF_REGISTRATION_PATIENCE_MS); // programs wait no longer
    if (report.is == service_report::state::running && !report.trusted)
        return {.is = service_report::state::forbidden,
                .sentence = "what listens on " + service_socket() +
                            " is another user's, whom programs don't believe: unset HOLDFAST_SOCKET"};
    struct stat socket {};
    bool for_everybody = stat(service_socket().c_str(), &socket) != 0 || (socket.st_mode & S_IWOTH);
    if (report.is == service_report::state::running && invoker_before_sudo() && !for_everybody)
        report = {.is = service_report::state::forbidden,
                  .sentence = "the service on " + service_socket() + " is for a group, and not used under sudo"};
    return report;
}

} // namespace

namespace {

// HOLDFAST_SOCKET is empty: a program looks for no monitor.
constexpr const char *no_socket = "";

// So long a program keeps its CPUs to itself: loading takes 20 ms of CPU time, 5% of what two CPUs have in 0.2 s. What
// the monitor is worth to a program in its first tenths of a second is less (docs/survey.md).
constexpr std::chrono::milliseconds loading_in_spare_time(250);

constexpr rlim_t descriptors_of_monitor = 64; // some forty, and a few for those who register

// Limits that the kernel's own answers do not name. Empty: none is in the way.
std::string low_limit() {
    rlimit descriptors{}, memory{};
    if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < descriptors_of_monitor)
        return fmt::format("only {} descriptors may be open, and a monitor needs {}: raise the limit (ulimit -n)",
                           descriptors.rlim_cur, descriptors_of_monitor);
    if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur != RLIM_INFINITY)
        return fmt::format("only {} MiB of memory may be mapped: raise the limit (ulimit -v)", memory.rlim_cur >> 20);
    return {};
}

} // namespace

void session::make_monitor() {
    try {
        monitor_ = std::make_unique<monitor>();
    } catch (const monitor_unavailable &unavailable) {
        std::string low = low_limit();
        why_no_monitor_ = low.empty() ? unavailable.what() : low;
        refusal_log_ = unavailable.log();
    }
}

session::session(monitor_comes when) : service_(service_for_programs()) {
    if (!uses_service() && when == monitor_comes::first)
        make_monitor();
    std::optional<invoker> user = invoker_before_sudo();
    try {
        server_ = std::make_unique<monitor_server>(monitor_.get(), listening_socket(),
                                                   household_of(user ? user->uid : getuid()));
    } catch (const std::system_error &error) {
        std::string low = low_limit();
        throw failure(low.empty() ? error.what() : low);
    }
    if (!uses_service() && when == monitor_comes::when_needed) {
        state_ = state::not_needed;
        // Programs that come again are those whose threads go on sleeping for locks.
        server_->expect_monitor(
            {.load = [this] { load_monitor(); }, .wait = [this] { loading_.hurry_after(loading_in_spare_time); }});
    }
}

void session::load_monitor() {
    state_ = state::loading;
    auto make = [this] {
        try {
            make_monitor();
        } catch (const std::exception &) { // there is no memory: as good as none
        }
    };
    loading_.begin(make, [this] {
        server_->begin(monitor_.get());
        state_ = state::settled;
    });
}

std::vector<left_out_part> session::left_out() const {
    if (monitor_)
        return monitor_->left_out();
    std::vector<left_out_part> of_service;
    for (const monitor_part &each : monitor_parts()) {
        if (service_.status.parts_left_out & each.bit)
            of_service.push_back({.part = each, .why = "the service could not load it", .log = ""});
    }
    return of_service;
}

void session::watch_rules(const std::vector<lock_rule> &rules) {
    std::vector<std::string> names;
    for (const lock_rule &each : rules)
        names.push_back(each.name);
    server_->watch_rules(names);
}

hf_monitor_status session::monitor_totals() const {
    if (!uses_service())
        return server_->status();
    hf_monitor_status now = ask_service(service_socket()).status, before = service_.status;
    for (auto total :
         {&hf_monitor_status::preemptions_total, &hf_monitor_status::sleeps_total, &hf_monitor_status::unreadable_total,
          &hf_monitor_status::unseen_switches_total, &hf_monitor_status::switch_storms_total})
        now.*total -= std::min(now.*total, before.*total); // it may have been restarted
    return now;
}

environment session::native_environment() const {
    return {{HF_SOCKET_VARIABLE, uses_service() ? service_socket() : server_->socket_name()}};
}

environment environment_without_holdfast() {
    std::string library = preload_library().string();
    const char *preloaded = std::getenv("LD_PRELOAD");
    bool inside_another = preloaded && std::strstr(preloaded, library.c_str());
    return inside_another ? environment{{"LD_PRELOAD", preloaded_by_others(library)}} : environment{};
}

environment session::preload_environment(const interposition &wanted) const {
    if (wanted.leaves_program_as_it_is())
        return environment_without_holdfast();
    environment variables = wanted.meets_monitor ? native_environment() : environment{{HF_SOCKET_VARIABLE, no_socket}};
    variables.emplace_back("LD_PRELOAD", preload_with(preloadable_library().string()));
    variables.emplace_back("ASAN_OPTIONS", asan_options());
    variables.emplace_back(HF_LOCK_VARIABLE, wanted.lock);
    if (!wanted.conf.empty())
        variables.emplace_back(HF_CONF_VARIABLE, wanted.conf);
    if (wanted.creation_sites)
        variables.emplace_back(HF_CREATION_SITES_VARIABLE, "1");
    if (is_under_oversubscription_scheduler())
        variables.emplace_back(HF_OVERSUB_VARIABLE, "1");
    if (wanted.handles_yields)
        variables.emplace_back(HF_DETECT_SPINNING_VARIABLE, "1");
    if (wanted.stats)
        variables.emplace_back(HF_STATS_VARIABLE, server_->socket_name());
    return variables;
}

std::vector<std::string> lock_names() {
    std::vector<std::string> names{"glibc", "default"};
    for (std::size_t i = 0; i < hf_lock_kind_count; i++)
        names.emplace_back(hf_lock_kinds[i].name);
    return names;
}

std::string lock_meant(const std::string &name, const std::vector<std::string> &known, const char *kind) {
    for (const char *spelling : {name.c_str(), hf_lock_name_meant(name.c_str())}) {
        if (std::find(known.begin(), known.end(), spelling) != known.end())
            return spelling;
    }
    throw usage_error(fmt::format("there is no {} '{}'{}", kind, name, or_one_of(name, known)));
}

std::vector<lock_rule> rules_in(const std::string &conf) {
    hf_policy_text policy{};
    std::array<char, 512> complaint{};
    if (!hf_policy_text_read(conf.c_str(), &policy, complaint.data(), complaint.size()))
        throw usage_error(complaint.data());
    std::vector<lock_rule> rules;
    for (const hf_policy_rule &each : std::span(policy.rule, policy.rules)) {
        std::array<char, HF_RULE_NAME_BYTES> name{};
        hf_policy_rule_name(&each, name.data());
        rules.push_back(
            {.kind = each.kind == HF_OBJECT_MUTEX ? "mutex" : "rwlock", .name = name.data(), .lock = each.value.lock});
    }
    return rules;
}

} // namespace holdfast::cli
