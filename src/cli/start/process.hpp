// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that we start, watch and measure. It is the head of a process group of its own and dies with us, whatever
// ends us; its output is collected; what it leaves running is ended with it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/common/interruption.hpp"
#include "cli/start/invoker.hpp"
#include "cli/start/session.hpp"

namespace holdfast::cli {

struct program {
    std::vector<std::string> arguments; // the first is its path, or a name to look up in PATH
    environment variables = {};         // added to ours
    std::optional<invoker> user = {};   // whose rights it gets; ours without
    std::string input = {};             // what it reads on its standard input
    bool one_output = false;            // standard error goes into `output`, as on a terminal
};

struct process_end {
    enum class cause { exited, signalled, timed_out, interrupted };
    cause why = cause::exited;
    int number = 0;      // exit status or signal
    std::string threads; // timed_out: "33 threads, 2 of them running": whether it hung, or was only slow
    double wall_s = 0;
    double cpu_s = 0;            // user and system time, of the children that it waited for too
    double context_switches = 0; // likewise
    std::string output;
    std::string errors;

    bool succeeded() const { return why == cause::exited && number == 0; }
    // "exited with status 3", "was killed by signal 11 (Segmentation fault)", ...
    std::string sentence() const;
};

// The last line of what a program wrote, without the line's end.
std::string last_line(std::string text);

class process {
public:
    // Throws failure, with the status of exit_status.hpp, when it can't be executed.
    explicit process(const program &what);
    // Ends it if it runs.
    ~process();
    process(const process &) = delete;
    process &operator=(const process &) = delete;

    // Waits until it has written something, and says whether it did; false as well when it ends without.
    bool wait_for_output(std::chrono::duration<double> timeout, const interruption &interrupted);

    // Waits for its end, or brings it about: when `timeout` is over, and when `interrupted` (may be null) says so. It
    // is asked first (SIGTERM) and killed two seconds later. May be called once.
    process_end wait(std::optional<std::chrono::duration<double>> timeout, const interruption *interrupted);

private:
    using clock = std::chrono::steady_clock;
    enum class event { output, ended, interrupted, timeout };

    event wait_for_event(std::optional<clock::time_point> deadline, const interruption *interrupted);
    bool wait_for_end(std::optional<clock::time_point> deadline, const interruption *interrupted, process_end &end);
    void read_output();
    void signal_group(int signal) const;
    void reap(process_end &end);

    // A pipe's reading side and what came out of it. Output beyond `kept_bytes_max` is read but not kept.
    struct stream {
        int fd = -1;
        std::string text;
        bool read_some();
        void close();
    };

    pid_t pid_ = -1;
    int pidfd_ = -1;
    clock::time_point started_;
    stream output_;
    stream errors_;
};

} // namespace holdfast::cli
