// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast top: what locks do to the programs of this machine, live.
#include <CLI/CLI.hpp>
#include <clocale>
#include <cstdio>
#include <ctime>
#include <fmt/core.h>
#include <memory>

#include "cli/common/exit_status.hpp"
#include "cli/common/many_descriptors.hpp"
#include "cli/common/one_of.hpp"
#include "cli/top/live_view.hpp"
#include "cli/top/plain_report.hpp"
#include "cli/verbs.hpp"
#include "measure/number_range.hpp"
#include "monitor/client/service_report.hpp"

namespace holdfast::cli {
namespace {

struct top_options {
    top::observer::plan what{.service_socket = service_socket()};
    top::ranking how;
    std::string sort = top::name_of(top::sort_key::waiting);
    double delay_s = 1;
    std::size_t locks = 3;
    bool batch = false;
    bool json = false;
    bool csv = false;
    bool no_futexes = false;
    bool stacks = false;
    std::uint64_t looks = 0; // without end
};

void sleep_for(double seconds) {
    auto ns = static_cast<long>(seconds * 1e9);
    timespec left = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    while (nanosleep(&left, &left) != 0)
        ;
}

void print(const top::change &what, const top_options &options) {
    constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
    if (options.json)
        fmt::print("{}\n", top::json_of(what, options.how).dump(-1, ' ', false, replace));
    else if (options.csv)
        fmt::print("{}", top::csv_of(what, options.how, options.locks));
    else
        fmt::print("{}\n", top::text_of(what, options.how, options.locks));
    if (std::fflush(stdout) != 0)
        throw failure("what top shows can't be written to standard output");
}

int show_batch(const top_options &options) {
    if (options.csv)
        fmt::print("{}", top::csv_heading());
    top::observer eyes(options.what);
    top::look before = eyes.take();
    for (std::uint64_t i = 0; options.looks == 0 || i < options.looks; i++) {
        sleep_for(options.delay_s);
        top::look now = eyes.take();
        print(top::between(before, now), options);
        before = std::move(now);
    }
    return exit_ok;
}

int show(top_options options) {
    if (!options.batch && (options.json || options.csv || options.looks != 0))
        throw usage_error("--json, --csv and -n are for scripts: add --batch");
    if (options.json && options.csv)
        throw usage_error("what is printed is either JSON or CSV: give --json or --csv");
    if (options.stacks && options.no_futexes)
        throw usage_error("--stacks are of what --no-futexes leaves out: give one");
    options.how.by = *top::sort_key_named(options.sort);
    options.what.futexes = !options.no_futexes;
    options.what.stacks = options.stacks;
    std::setlocale(LC_CTYPE, "");
    allow_many_descriptors(); // each process's statistics cost one
    if (options.batch)
        return show_batch(options);
    top::show_live(options.what, options.how, options.delay_s);
    return exit_ok;
}

} // namespace

void add_top(CLI::App &app, action &chosen) {
    auto options = std::make_shared<top_options>();
    CLI::App *verb = app.add_subcommand("top", "Show what locks do to the programs of this machine, live");
    verb->add_option("--delay", options->delay_s, "Seconds from one look to the next")
        ->type_name("S")
        ->check(from_to(0.1, 3600.0))
        ->capture_default_str();
    verb->add_option("--sort", options->sort, "What comes first: " + CLI::detail::join(top::sort_key_names()))
        ->type_name("KEY")
        ->check(one_of(top::sort_key_names()))
        ->capture_default_str();
    verb->add_option("--filter", options->how.filter, "Show only what contains this: program, user, number, lock")
        ->type_name("TEXT");
    verb->add_flag("--idle", options->how.idle, "Show also programs and locks that nobody waited for");
    verb->add_flag("--no-futexes", options->no_futexes,
                   "Leave out what the kernel shows of programs that are not under Holdfast");
    verb->add_flag("--stacks", options->stacks,
                   "Show also where threads wait for locks, and where those are that hold them; for root");
    verb->add_option("--socket", options->what.service_socket, "The service's socket")
        ->type_name("PATH")
        ->capture_default_str();
    verb->add_flag("--batch", options->batch, "Print look after look, for scripts; needs no terminal");
    verb->add_option("-n", options->looks, "With --batch: end after so many; otherwise at Ctrl-C")
        ->type_name("N")
        ->check(from_to(std::uint64_t{1}, std::uint64_t{1} << 32));
    verb->add_flag("--json", options->json, "With --batch: print a line of JSON for each look");
    verb->add_flag("--csv", options->csv,
                   "With --batch: print comma-separated values, a line for each process and lock");
    verb->add_option("--locks", options->locks, "With --batch: how many locks of each program to show")
        ->type_name("N")
        ->check(from_to(0, 4096))
        ->capture_default_str();
    verb->footer("Shows programs under Holdfast; to root also what the kernel shows of others: how often and how long\n"
                 "they sleep in futexes. Users other than root see their own programs. Keys: press h.\n\n"
                 "Examples:\n"
                 "  sudo holdfast top\n"
                 "  sudo holdfast top --stacks\n"
                 "  sudo holdfast top --sort preemptions --filter mysqld\n"
                 "  holdfast top --batch -n 1 --delay 5\n"
                 "  holdfast top --batch --csv --delay 10 > locks.csv\n"
                 "  holdfast top --batch --json -n 10 | jq '.processes[] | {name, waiters: .now.waiters}'");
    verb->callback([options, &chosen] { chosen = [options] { return show(*options); }; });
}

} // namespace holdfast::cli
