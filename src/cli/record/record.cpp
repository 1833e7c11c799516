// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast record: the waits of a program, each with where its thread waited and where the thread was that woke it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <limits>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.hpp"
#include "base/signals_blocked.hpp"
#include "cli/common/exit_status.hpp"
#include "cli/common/interruption.hpp"
#include "cli/common/many_descriptors.hpp"
#include "cli/common/options.hpp"
#include "cli/common/output_file.hpp"
#include "cli/common/say.hpp"
#include "cli/start/child.hpp"
#include "cli/start/invoker.hpp"
#include "cli/start/program_examination.hpp"
#include "cli/symbols/unwinder.hpp"
#include "cli/verbs.hpp"
#include "cli/waits/recording.hpp"
#include "cli/waits/wait_log.hpp"
#include "holdfast/holdfast.h"
#include "measure/quantity.hpp"
#include "monitor/wait_watch.hpp"

namespace holdfast::cli {
namespace {

constexpr unsigned detail_default = 256;
constexpr int reads_apart_ms = 10; // a program's map can be read while it runs only

struct record_options {
    std::optional<pid_t> pid;
    double seconds = 0; // without end
    std::string path = "holdfast-recording.json";
    bool locks_alone = false;
    bool as_root = false;
    unsigned detail = detail_default;
    std::vector<std::string> program;
};

class recorder {
public:
    explicit recorder(const record_options &options)
        : watch_({.everybody = false,
                  .locks_alone = options.locks_alone,
                  .preemptions = true,
                  .all_of_slot = options.detail}) {}

    bool follow(pid_t process) const { return watch_.follow(process); }
    // Those of it that wait already. Why they are not seen; empty when they are.
    std::string meet_sleepers(pid_t process) const {
        watch_.meet_sleepers(process);
        return why_hidden(watch_.sees_older());
    }

    void read() {
        log_.read(watch_, [this](const lock_wait &wait) { keep(wait); });
        for (const holder_preemption &each : log_.take_preemptions())
            kept_.add(each, log_);
    }

    void end() {
        read();
        log_.end_all(hf_monotonic_ns(), [this](const lock_wait &wait) { keep(wait); });
    }

    recording &kept() { return kept_; }
    std::uint64_t lost() const { return watch_.lost_total() + not_kept_; }

private:
    void keep(const lock_wait &wait) {
        if (wait.process.pid != getpid())
            not_kept_ += !kept_.add(wait, log_);
    }

    wait_watch watch_;
    wait_log log_;
    recording kept_;
    std::uint64_t not_kept_ = 0;
};

std::unique_ptr<recorder> recorder_for(const record_options &options) {
    if (std::string why = unwinder::why_not(); !why.empty())
        throw failure(why);
    try {
        return std::make_unique<recorder>(options);
    } catch (const wait_watch_unavailable &unavailable) {
        throw failure(std::string(unavailable.what()));
    }
}

// Until it ends, somebody interrupts, or the time is over.
void record_process(recorder &all, const record_options &options) {
    descriptor process(static_cast<int>(syscall(SYS_pidfd_open, *options.pid, 0)));
    if (!process || !all.follow(*options.pid))
        throw failure(fmt::format("there is no process {}: check its number", *options.pid));
    std::string why_no_older = all.meet_sleepers(*options.pid);
    all.kept().about()["why_no_older_waits"] = why_no_older;
    if (!why_no_older.empty())
        say("holdfast: {}\n", why_no_older);
    interruption interrupted;
    if (isatty(STDERR_FILENO))
        say("holdfast: recording process {}{}; Ctrl-C ends it\n", *options.pid,
            options.seconds > 0 ? fmt::format(" for {:g} s", options.seconds) : "");
    auto last = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
    while (options.seconds == 0 || std::chrono::steady_clock::now() < last) {
        std::array<pollfd, 2> ends = {pollfd{process.get(), POLLIN, 0}, pollfd{interrupted.fd(), POLLIN, 0}};
        int count = poll(ends.data(), ends.size(), reads_apart_ms);
        all.read();
        if (count > 0)
            break;
    }
}

// What this process forks is recorded, its program first of all.
ending record_program(recorder &all, const record_options &options) {
    all.follow(getpid());
    std::optional<invoker> user = options.as_root ? std::nullopt : invoker_before_sudo();
    std::optional<std::jthread> reader;
    {
        signals_blocked in_the_thread;
        reader.emplace([&all](const std::stop_token &stop) {
            while (!stop.stop_requested()) {
                all.read();
                std::this_thread::sleep_for(std::chrono::milliseconds(reads_apart_ms));
            }
        });
    }
    return run_child(options.program, environment(), user);
}

void tell_of(const recording &kept, std::uint64_t lost, const std::string &path) {
    std::uint64_t waits = 0, waited_ns = 0;
    for (const lock_wait &each : kept.waits()) {
        waits += each.weight;
        waited_ns += each.stands_for_ns();
    }
    if (waits == 0) {
        say("holdfast: no thread waited in a futex: {} is empty of waits\n", path);
        return;
    }
    std::string sampled = waits == kept.waits().size() ? "" : fmt::format(", of which {} seen", kept.waits().size());
    say("holdfast: {} waits{}, {} of waiting: {}; next: holdfast report {}\n", format_count(static_cast<double>(waits)),
        sampled, format_duration_ns(static_cast<double>(waited_ns)), path, path);
    if (lost != 0)
        say("holdfast: {} pieces of waits are missing, for want of room: --detail {} would lose fewer\n", lost, 16);
}

ending record(const record_options &options) {
    if (options.pid && !options.program.empty())
        throw usage_error("record either a process or a program: give --pid or the program's name");
    if (!options.pid && options.program.empty())
        throw usage_error(
            "what is to be recorded? Give --pid, or a program behind --, as in 'holdfast record -- ./server'");
    if (options.seconds != 0 && !options.pid)
        throw usage_error("--seconds is for --pid: a program is recorded to its end");
    output_file output(options.path);
    if (output.has_content())
        say("holdfast: '{}' is there, and this recording will replace it: -o FILE names another\n", output.name());
    allow_many_descriptors();
    std::unique_ptr<recorder> all = recorder_for(options);
    std::uint64_t begun_ns = hf_monotonic_ns();
    auto &about = all->kept().about();
    about["holdfast"] = hf_version();
    about["time"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    about["command"] = options.program;
    about["pid"] = options.pid ? nlohmann::ordered_json(*options.pid) : nlohmann::ordered_json();
    about["cpus"] = std::thread::hardware_concurrency();
    about["locks_alone"] = options.locks_alone;
    ending end = exit_ok;
    if (options.pid)
        record_process(*all, options);
    else
        end = record_program(*all, options);
    all->end();
    about["begun_ns"] = begun_ns;
    about["seconds"] = static_cast<double>(hf_monotonic_ns() - begun_ns) / 1e9;
    about["lost"] = all->lost();
    output.write(all->kept().text());
    tell_of(all->kept(), all->lost(), output.name());
    return end;
}

} // namespace

void add_record(CLI::App &app, action &chosen) {
    auto options = std::make_shared<record_options>();
    CLI::App *verb =
        app.add_subcommand("record", "Record where a program's threads wait for locks, and for which holders");
    verb->add_option("-p,--pid", options->pid, "Record this process, and what it forks meanwhile")
        ->type_name("PID")
        ->check(from_to(1, std::numeric_limits<pid_t>::max()));
    verb->add_option("--seconds", options->seconds, "With --pid: for so long; otherwise until it ends, or Ctrl-C")
        ->type_name("S")
        ->check(from_to(0.01, 86400.0));
    verb->add_option("-o,--output", options->path, "Where the recording goes")
        ->type_name("FILE")
        ->check(not_empty())
        ->capture_default_str();
    verb->add_flag("--locks-alone", options->locks_alone,
                   "Leave out sleeps that are not for locks: conditions, semaphores, joins, Python's GIL");
    add_number(*verb, "--detail", options->detail,
               "So many waits of 10 ms are recorded on each CPU; of more, one in 64 that stands for all",
               {"N", 1U, 100000U});
    add_program(*verb, options->as_root, options->program);
    verb->footer(
        "Needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN. Waits that sleep are seen, those that spin are not.\n"
        "Exit status: 0, or the program's; 2 for a mistake on the command line; 125 when holdfast failed; 126 and\n"
        "127 when the program can't be executed or found.\n\n"
        "Examples:\n"
        "  sudo holdfast record --pid 1234 --seconds 10\n"
        "  sudo holdfast record -o server.json -- ./server --threads 64\n"
        "  sudo holdfast record -- holdfast run -- ./server      (the program under Holdfast)\n"
        "  holdfast report holdfast-recording.json --flame-graph waits.svg --perfetto trace.json");
    verb->callback([options, &chosen] { chosen = [options] { return record(*options); }; });
}

} // namespace holdfast::cli
