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

#include "cli/common/exit_status.hpp"
#include "cli/common/interruption.hpp"
#include "cli/common/many_descriptors.hpp"
#include "cli/common/not_empty.hpp"
#include "cli/common/one_of.hpp"
#include "cli/common/say.hpp"
#include "cli/monitor/metrics_endpoint.hpp"
#include "cli/monitor/monitor_status.hpp"
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

// At most one service a socket: the lock goes with its owner, in whatever way that ends.
descriptor be_the_only_one(const std::string &socket) {
    // One directory, as /run/holdfast, and not a path that was mistyped.
    std::filesystem::path directory = std::filesystem::path(socket).parent_path();
    std::error_code error;
    if (!directory.empty() &&
        !std::filesystem::is_directory(directory.parent_path().empty() ? "." : directory.parent_path(), error))
        throw failure(fmt::format("there is no directory {} for the socket: make it, or choose another --socket",
                                  directory.parent_path().string()));
    std::filesystem::create_directory(directory, error);
    std::string path = socket + ".lock";
    descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock)
        throw failure(
            fmt::format("{} can't be made: {}; run as root, or choose another --socket", path, std::strerror(errno)));
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
        throw failure(fmt::format("a service runs on {} already: see 'holdfast monitor status'", socket));
    return lock;
}

std::unique_ptr<monitor> load_monitor(const monitor_options &options) {
    try {
        return std::make_unique<monitor>(monitor::pins{options.pins});
    } catch (const monitor_unavailable &unavailable) {
        throw failure(unavailable.what());
    }
}

void say_ready(const monitor_options &options, const monitor &kernel_monitor) {
    say("holdfast monitor: ready on {}{}\n", options.socket,
        kernel_monitor.has_taken_over() ? ", with the programs of the service before" : "");
    if (!kernel_monitor.why_no_pins().empty())
        say("holdfast monitor: programs will not survive my restart informed: {}\n", kernel_monitor.why_no_pins());
    tell_service_manager("READY=1");
}

void audit(monitor &kernel_monitor) {
    std::uint64_t repairs = kernel_monitor.page().repairs_total;
    kernel_monitor.audit();
    if (kernel_monitor.page().repairs_total != repairs)
        say("holdfast monitor: the count of preempted critical sections was wrong and is right again; "
            "please report this\n");
}

// However it ends, also before it was ready: pins stay for programs that go on with them, and for nobody else.
class pins_at_end {
public:
    explicit pins_at_end(monitor &kernel_monitor) : kernel_monitor_(kernel_monitor) {}
    pins_at_end(const pins_at_end &) = delete;
    pins_at_end &operator=(const pins_at_end &) = delete;
    ~pins_at_end() {
        if (kernel_monitor_.followed_processes() == 0u)
            kernel_monitor_.unpin();
        else
            say("holdfast monitor: ended; waiters of registered processes block until I run again\n");
    }

private:
    monitor &kernel_monitor_;
};

int serve(const monitor_options &options) {
    std::optional<gid_t> group = group_of(options);
    allow_many_descriptors(); // each registered process costs one
    descriptor lock = be_the_only_one(options.socket);
    interruption stop;
    const std::unique_ptr<monitor> kernel_monitor = load_monitor(options);
    const pins_at_end pins(*kernel_monitor);
    try {
        monitor_server server(kernel_monitor.get(), listening_socket(options.socket, group),
                              everybody_up_to(options.processes_of_a_user_max), scoping_of(options));
        server.reconsider_scopes(); // of programs of the service before
        std::optional<metrics_endpoint> metrics;
        if (!options.metrics.empty())
            metrics.emplace(options.metrics, [&server] { return server.status(); });
        say_ready(options, *kernel_monitor);
        for (pollfd ended = {.fd = stop.fd(), .events = POLLIN, .revents = 0}; !stop.requested();) {
            if (poll(&ended, 1, audit_every_ms) == 0) {
                audit(*kernel_monitor);
                server.reconsider_scopes();
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
