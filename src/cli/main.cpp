// SPDX-License-Identifier: MIT OR Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/core.h>

#include "cli/ending.hpp"
#include "cli/exit_status.hpp"
#include "cli/verbs.hpp"
#include "holdfast/holdfast.h"

extern "C" {
#include "hint/registration.h"
bool hf_registers_at_start = false;
}

namespace {

// CLI11 has an exit code for each kind of mistake; scripts want one. --help and --version come here too, as success.
int explain(const CLI::App &app, const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
        return app.exit(error);
    fmt::print(stderr, "holdfast: {}: see 'holdfast --help'\n", error.what());
    return holdfast::cli::exit_usage;
}

// A full disk or a closed descriptor is noticed when what was printed leaves the buffer. Of 'run' the status is the
// program's, whatever became of our own output.
holdfast::cli::ending checked(holdfast::cli::ending of_verb, const CLI::App &app) {
    bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
    if (written || app.got_subcommand("run"))
        return of_verb;
    fmt::print(stderr, "holdfast: not all that was printed could be written to standard output: see that there is room "
                       "for it\n");
    return holdfast::cli::exit_holdfast_failed;
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
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return explain(app, error);
    }
    try {
        return checked(chosen(), app);
    } catch (const usage_error &error) {
        fmt::print(stderr, "holdfast: {}\n", error.what());
        return exit_usage;
    } catch (const failure &error) {
        fmt::print(stderr, "holdfast: {}\n", error.what());
        return error.status();
    } catch (const std::exception &error) {
        fmt::print(stderr, "holdfast: {}\n", error.what());
        return exit_holdfast_failed;
    }
}

} // namespace

int main(int argc, char **argv) {
    return carry_out(argc, argv).take();
}
