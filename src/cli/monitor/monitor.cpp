// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast monitor: one Preemption Monitor for all programs of the machine, as a service.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <grp.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/exit_status.hpp"
#include "cli/common/interruption.hpp"
#include "cli/common/many_descriptors.hpp"
#include "cli/common/not_empty.hpp"
#include "cli/common/one_of.hpp"
#include "cli/monitor/metrics_endpoint.hpp"
#include "cli/monitor/metrics_page.hpp"
#include "cli/monitor/monitor_status.hpp"
#include "cli/monitor/program_totals.hpp"
#include "cli/monitor/service_log.hpp"
#include "cli/monitor/service_manager.hpp"
#include "cli/verbs.hpp"
#include "holdfast/holdfast.h"
#include "monitor/server/monitor_server.hpp"

namespace holdfast::cli {
namespace {

constexpr int audit_every_ms = 10 * 1000;

struct monitor_options {
    std::string socket = HF_SERVICE_SOCKET;
    std::string group;
    std::string pins = "/sys/fs/bpf/holdfast";
    std::string metrics; // empty: none
    std::size_t metrics_programs = 32;
    std::string log_level = "info";
    std::size_t processes_of_a_user_max = 4096;
    std::string scopes = "cpus";
};

scoping scoping_of(const monitor_options &options) {
    if (options.scopes == "users")
        return scoping::users;
    return options.scopes == "cpus" ? scoping::cpus : scoping::machine;
}

std::optional<gid_t> group_of(const monitor_options &options) {
    if (options.group.empty())
        return std::nullopt;
    if (const group *found = getgrnam(options.group.c_str()))
        return found->gr_gid;
    throw usage_error(fmt::format("there is no group '{}': make it with 'groupadd --system {}', or name another",
                                  options.group, options.group));
}

// At most one service a socket: the lock goes with its owner, in whatever way that ends. What was made for it, the
// directory and the lock's file, goes with one that can say so.
class only_service {
public:
    explicit only_service(const std::string &socket) : path_(socket + ".lock") {
        // One directory, as /run/holdfast, and not a path that was mistyped.
        std::filesystem::path directory = std::filesystem::path(socket).parent_path();
        std::error_code error;
        if (!directory.empty() &&
            !std::filesystem::is_directory(directory.parent_path().empty() ? "." : directory.parent_path(), error))
            throw failure(fmt::format("there is no directory {} for the socket: make it, or choose another --socket",
                                      directory.parent_path().string()));
        if (std::filesystem::create_directory(directory, error))
            made_ = directory;
        do
            lock_ = locked_file(socket);
        while (!is_at_its_path());
    }
    only_service(const only_service &) = delete;
    only_service &operator=(const only_service &) = delete;
    ~only_service() {
        std::error_code error;
        std::filesystem::remove(path_, error);
        if (!made_.empty())
            std::filesystem::remove(made_, error); // not when there is anything in it
    }

private:
    descriptor locked_file(const std::string &socket) const {
        descriptor lock(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (!lock)
            throw failure(fmt::format("{} can't be made: {}; {}choose another --socket", path_, std::strerror(errno),
                                      geteuid() == 0 ? "" : "run as root, or "));
        if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
            throw failure(fmt::format("a service runs on {} already: see 'holdfast monitor status'", socket));
        return lock;
    }

    // Another service may have taken the file away between our open() and our flock().
    bool is_at_its_path() const {
        struct stat ours {
        }, there{};
        return fstat(lock_.get(), &ours) == 0 && stat(path_.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
               ours.st_ino == there.st_ino;
    }

    std::string path_;
    std::filesystem::path made_;
    descriptor lock_;
};

std::unique_ptr<monitor> load_monitor(const monitor_options &options) {
    try {
        return std::make_unique<monitor>(monitor::pins{options.pins});
    } catch (const monitor_unavailable &unavailable) {
        throw failure(unavailable.what());
    }
}

void say_ready(const monitor_options &options, const monitor &kernel_monitor, const service_log &log) {
    log.say(log_level::info, "ready on {}{}", options.socket,
            kernel_monitor.has_taken_over() ? ", with the programs of the service before" : "");
    if (!kernel_monitor.why_no_pins().empty())
        log.say(log_level::warning, "programs will not survive my restart informed: {}", kernel_monitor.why_no_pins());
    tell_service_manager("READY=1");
}

void audit(monitor &kernel_monitor, const service_log &log) {
    std::uint64_t repairs = kernel_monitor.page().repairs_total;
    kernel_monitor.audit();
    if (kernel_monitor.page().repairs_total != repairs)
        log.say(log_level::error,
                "the count of preempted critical sections was wrong and is right again; please report this");
}

// What has become more since it was called last.
class reported_changes {
public:
    void say(const hf_monitor_status &now, const service_log &log) {
        if (now.refusals_total != before_.refusals_total)
            log.say(log_level::warning,
                    "{} requests were refused: see 'holdfast monitor status' and --group, "
                    "--processes-of-a-user",
                    now.refusals_total - before_.refusals_total);
        if (now.uncounted_total != before_.uncounted_total)
            log.say(log_level::warning, "{} critical threads could not be counted, for want of memory",
                    now.uncounted_total - before_.uncounted_total);
        log.say(log_level::debug,
                "{} processes are registered, {} registrations, {} preemptions and {} sleeps since the last look, "
                "{} audits",
                now.registered_processes, now.registrations_total - before_.registrations_total,
                now.preemptions_total - before_.preemptions_total, now.sleeps_total - before_.sleeps_total,
                now.audits_total);
        before_ = now;
    }

private:
    hf_monitor_status before_{};
};

// However it ends, also before it was ready: pins stay for programs that go on with them, and for nobody else.
class pins_at_end {
public:
    pins_at_end(monitor &kernel_monitor, const service_log &log) : kernel_monitor_(kernel_monitor), log_(log) {}
    pins_at_end(const pins_at_end &) = delete;
    pins_at_end &operator=(const pins_at_end &) = delete;
    ~pins_at_end() {
        if (kernel_monitor_.followed_processes() == 0u)
            kernel_monitor_.unpin();
        else
            log_.say(log_level::warning, "ended; waiters of registered processes block until I run again");
    }

private:
    monitor &kernel_monitor_;
    const service_log &log_;
};

int serve(const monitor_options &options) {
    std::optional<gid_t> group = group_of(options);
    allow_many_descriptors(); // each registered process costs one
    const service_log log(options.log_level);
    const only_service alone(options.socket);
    interruption stop;
    const std::unique_ptr<monitor> kernel_monitor = load_monitor(options);
    const pins_at_end pins(*kernel_monitor, log);
    try {
        monitor_server server(kernel_monitor.get(), listening_socket(options.socket, group),
                              everybody_up_to(options.processes_of_a_user_max), scoping_of(options));
        server.reconsider_scopes(); // of programs of the service before
        program_totals programs(options.socket, options.metrics_programs);
        auto look = [&] { return options.metrics_programs == 0 ? std::vector<program_total>() : programs.look(); };
        std::optional<metrics_endpoint> metrics;
        if (!options.metrics.empty())
            metrics.emplace(options.metrics, [&] { return metrics_page(server.status(), look()); });
        reported_changes changes;
        say_ready(options, *kernel_monitor, log);
        for (pollfd ended = {.fd = stop.fd(), .events = POLLIN, .revents = 0}; !stop.requested();) {
            if (poll(&ended, 1, audit_every_ms) == 0) {
                audit(*kernel_monitor, log);
                server.reconsider_scopes();
                changes.say(server.status(), log);
                if (metrics)
                    look(); // of programs that end before the next visitor comes
            }
        }
        tell_service_manager("STOPPING=1");
    } catch (const std::system_error &error) {
        throw failure(error.what());
    }
    return exit_ok;
}

} // namespace

void add_monitor(CLI::App &app, action &chosen) {
    auto options = std::make_shared<monitor_options>();
    CLI::App *verb = app.add_subcommand("monitor", "Run the Preemption Monitor as a service for all programs");
    verb->add_option("--socket", options->socket, "Where programs register")
        ->type_name("PATH")
        ->check(not_empty())
        ->capture_default_str();
    verb->add_option("--group", options->group, "Serve this group only; otherwise everybody")->type_name("NAME");
    verb->add_option("--processes-of-a-user", options->processes_of_a_user_max,
                     "How many processes of a user other than root may be registered at a time")
        ->type_name("N")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 22))
        ->capture_default_str();
    verb->add_option("--pins", options->pins,
                     "Directory in a BPF file system for what a restarted service goes on with; '' for none")
        ->type_name("DIR")
        ->capture_default_str();
    verb->add_option("--scopes", options->scopes,
                     "Who listens to whom: everybody to all (machine), to those that may run on the same CPUs (cpus), "
                     "or, of these, to the same user's (users)")
        ->type_name("WHOM")
        ->check(one_of({"machine", "cpus", "users"}))
        ->capture_default_str();
    verb->add_option("--metrics", options->metrics, "Serve figures for Prometheus there, over HTTP, at /metrics")
        ->type_name("HOST:PORT");
    verb->add_option("--metrics-programs", options->metrics_programs,
                     "Of how many programs the figures tell by name; what more there are is one")
        ->type_name("N")
        ->check(CLI::Range(std::size_t{0}, std::size_t{10'000}))
        ->capture_default_str();
    verb->add_option("--log-level", options->log_level, "The least that is worth a line on standard error")
        ->type_name("LEVEL")
        ->check(one_of({"error", "warning", "info", "debug"}))
        ->capture_default_str();
    verb->footer("Runs in the foreground until SIGTERM or Ctrl-C. Needs root, or CAP_BPF and CAP_PERFMON.\n"
                 "Programs find it by HOLDFAST_SOCKET or the default path, and need no privilege.\n\n"
                 "Examples:\n"
                 "  sudo holdfast monitor\n"
                 "  sudo holdfast monitor --metrics 127.0.0.1:9464\n"
                 "  sudo holdfast monitor --scopes users     (users that do not trust each other)\n"
                 "  sudo systemctl enable --now holdfast-monitor     (from the Debian package)\n"
                 "  holdfast monitor status --json | jq .preemptions_total");
    add_monitor_status(*verb, chosen);
    verb->callback([options, verb, &chosen] {
        if (verb->get_subcommands().empty())
            chosen = [options] { return serve(*options); };
    });
}

} // namespace holdfast::cli
