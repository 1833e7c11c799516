// SPDX-License-Identifier: MIT OR Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <new>
#include <unistd.h>

#include "cli/common/exit_status.hpp"
#include "cli/common/say.hpp"
#include "cli/program_words.hpp"
#include "cli/start/ending.hpp"
#include "cli/verbs.hpp"
#include "holdfast/holdfast.h"

extern "C" {
#include "hint/registration.h"
bool hf_registers_at_start = false;
}

namespace {

using holdfast::cli::say;

// Of the standard descriptors those that holdfast was started without would be the next that it opens, and get what it
// prints. So they are taken by what can't be read, or written. A program that it starts does not inherit that.
void take_missing_standard_descriptors() {
    for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC); // the lowest that is free
    }
}

// A full disk or a closed descriptor is noticed when what was printed leaves the buffer. Of 'run' the status is the
// program's, whatever became of our own output.
holdfast::cli::ending checked(holdfast::cli::ending of_verb) {
    if (std::fflush(stdout) == 0 && !std::ferror(stdout))
        return of_verb;
    say("holdfast: not all that was printed could be written to standard output: see that there is room for it\n");
    return holdfast::cli::exit_holdfast_failed;
}

// CLI11 has an exit code for each kind of mistake; scripts want one. --help and --version come here too, as success.
holdfast::cli::ending explain(const CLI::App &app, const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
        app.exit(error);
        return checked(holdfast::cli::exit_ok);
    }
    std::string verb = app.get_subcommands().empty() ? "" : " " + app.get_subcommands().front()->get_name();
    if (verb.empty() && !app.remaining().empty()) {
        say("holdfast: there is no '{}' to do: see 'holdfast --help'\n", app.remaining().front());
        return holdfast::cli::exit_usage;
    }
    // An option of a workload's own, most often.
    bool is_workloads = dynamic_cast<const CLI::ExtrasError *>(&error) && verb == " bench";
    say("holdfast: {}: {}see 'holdfast{} --help'\n", error.what(),
        is_workloads ? "put a workload's own options behind --, or " : "", verb);
    return holdfast::cli::exit_usage;
}

holdfast::cli::ending carry_out(int argc, char **argv) {
    using namespace holdfast::cli;
    CLI::App app{"Locks for Linux whose speed does not depend on how many threads run.", "holdfast"};
    app.require_subcommand(1);
    app.set_version_flag("--version", std::string("holdfast ") + hf_version());
    app.footer("Examples:\n"
               "  holdfast run -- ./server --threads 64\n"
               "  holdfast compare --locks glibc,flexguard --metric 'ops/s: ([0-9.]+)' -- ./benchmark\n"
               "  holdfast bench shared-memory --threads 1,4,16,64 --json cells.json --plot cells.svg\n"
               "  sudo holdfast monitor\n"
               "  sudo holdfast top\n"
               "  holdfast doctor");

    action chosen;
    add_run(app, chosen);
    add_compare(app, chosen);
    add_bench(app, chosen);
    add_doctor(app, chosen);
    add_monitor(app, chosen);
    add_top(app, chosen);
    add_report(app, chosen);

    try {
        std::vector<std::string> words = with_program_marked(app, {argv + 1, argv + argc});
        std::reverse(words.begin(), words.end()); // as CLI11 wants them
        app.parse(std::move(words));
    } catch (const CLI::ParseError &error) {
        return explain(app, error);
    }
    try {
        auto of_verb = chosen();
        return app.got_subcommand("run") ? of_verb : checked(of_verb);
    } catch (const usage_error &error) {
        say("holdfast: {}\n", error.what());
        return exit_usage;
    } catch (const failure &error) {
        say("holdfast: {}\n", error.what());
        return error.status();
    } catch (const std::bad_alloc &) {
        say("holdfast: there is not enough memory: raise the limit of address space (ulimit -v) or of the cgroup\n");
        return exit_holdfast_failed;
    } catch (const std::exception &error) {
        say("holdfast: {}\n", error.what());
        return exit_holdfast_failed;
    }
}

} // namespace

int main(int argc, char **argv) {
    take_missing_standard_descriptors();
    return carry_out(argc, argv).take();
}
