// SPDX-License-Identifier: MIT OR Apache-2.0
// The command: reads its words, hands over to a verb, and ends as that says, by a signal if need be. What goes wrong is
// one sentence on standard error.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <fmt/core.h>
#include <string>
#include <unistd.h>

#include "cli/common/exit_status.hpp"
#include "cli/common/nearest_name.hpp"
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

using holdfast::cli::in_one_line;
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

std::vector<std::string> names_of_verbs(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::App *each : app.get_subcommands([](const CLI::App *) { return true; }))
        names.push_back(each->get_name());
    return names;
}

std::vector<std::string> names_of_options(const CLI::App &verb) {
    std::vector<std::string> names;
    for (const CLI::Option *each : verb.get_options()) {
        for (const std::string &name : each->get_lnames())
            names.push_back("--" + name);
    }
    return names;
}

// 'holdfast help', 'holdfast help VERB' and 'holdfast version', as people try them. What is behind a verb's name is no
// program's then; what is no verb is left as it is, to be explained.
std::vector<std::string> with_habits_understood(const CLI::App &app, std::vector<std::string> words) {
    if (!words.empty() && words.front() == "help") {
        words.erase(words.begin());
        std::size_t named = 0;
        const CLI::App *verb = &app;
        while (named < words.size()) {
            auto verbs = verb->get_subcommands([&](const CLI::App *each) { return each->get_name() == words[named]; });
            if (verbs.empty())
                break;
            verb = verbs.front();
            named++;
        }
        if (named > 0 || words.empty())
            words.insert(words.begin() + static_cast<std::ptrdiff_t>(named), "--help");
    }
    if (!words.empty() && (words.front() == "version" || words.front() == "-v"))
        words.front() = "--version";
    return words;
}

const CLI::App &verb_named(const CLI::App &app) {
    const CLI::App *verb = &app;
    while (!verb->get_subcommands().empty())
        verb = verb->get_subcommands().front();
    return *verb;
}

// The first word that nothing was made of: an option, if there is one. What is behind it may be its value.
std::string stranger_in(const CLI::App &app) {
    std::vector<std::string> words = app.remaining(true);
    std::erase(words, "--");
    for (const char *beginning : {"--", "-", ""}) {
        auto found = std::ranges::find_if(words, [&](const auto &word) { return word.starts_with(beginning); });
        if (found != words.end())
            return *found;
    }
    return "";
}

// Of CLI11's sentences those that are about two options, or one that is there twice. Empty: it is none of these.
std::string clash_in(const CLI::ParseError &error) {
    std::string what = error.what(), name = what.substr(0, what.find_first_of(": "));
    auto last_word = [&] { return what.substr(what.rfind(' ') + 1); };
    if (dynamic_cast<const CLI::ExcludesError *>(&error))
        return fmt::format("{} and {} exclude each other: give one", name, last_word());
    if (dynamic_cast<const CLI::RequiresError *>(&error))
        return fmt::format("{} is of use with {} alone: give that, too", name, last_word());
    if (dynamic_cast<const CLI::ArgumentMismatch *>(&error) && what.find("At Most 1") != std::string::npos)
        return fmt::format("{} is given more than once: give it once", name);
    return "";
}

// CLI11 has an exit code for each kind of mistake; scripts want one. --help and --version come here too, as success.
// CLI11 says "results is required" and "--filter: 1 required TEXT missing". Empty: nothing is missing.
std::string missing_in(const CLI::App &verb, const CLI::ParseError &error) {
    std::string what = error.what(), name = what.substr(0, what.find_first_of(": "));
    bool lacks_value = dynamic_cast<const CLI::ArgumentMismatch *>(&error) && what.ends_with(" missing");
    lacks_value |= dynamic_cast<const CLI::ValidationError *>(&error) && what.starts_with(name + ": '--' ");
    if (!lacks_value && !(dynamic_cast<const CLI::RequiredError *>(&error) && what.ends_with(" is required")))
        return "";
    const CLI::Option *option = verb.get_option_no_throw(name);
    if (!option)
        return "";
    std::string type = option->get_type_name();
    type = type.substr(0, type.find(':'));
    if (option->get_positional())
        return fmt::format("{} is missing ({})", type.empty() ? name : type, option->get_description());
    return fmt::format("{} needs a value: {} {}", name, name, type.empty() ? "VALUE" : type);
}

holdfast::cli::ending explain(CLI::App &app, const CLI::ParseError &error) {
    using holdfast::cli::did_you_mean;
    const CLI::App &verb = verb_named(app);
    if (error.get_exit_code() == 0) {
        if (verb.get_name() == "bench")
            holdfast::cli::fit_help_to_workload(*app.get_subcommand("bench"));
        app.exit(error);
        return checked(holdfast::cli::exit_ok);
    }
    std::string stranger = stranger_in(app), full_name = "holdfast";
    if (&verb != &app)
        full_name = verb.get_parent() == &app ? "holdfast " + verb.get_name()
                                              : "holdfast " + verb.get_parent()->get_name() + " " + verb.get_name();
    bool is_option = stranger.size() > 1 && stranger.front() == '-';
    std::string name = stranger.substr(0, stranger.find('='));
    bool lacks_verb = &verb == &app; // whose option none of them can be
    if (is_option && (lacks_verb || dynamic_cast<const CLI::ExtrasError *>(&error))) {
        // Of bench it is an option of a workload's own, most often.
        std::string meant = did_you_mean(name, names_of_options(verb));
        say("holdfast: there is no option {}{} {}see '{} --help'\n", in_one_line(name), meant.empty() ? ":" : meant,
            verb.get_name() == "bench" ? "put a workload's own options behind --, or " : "", full_name);
    } else if (lacks_verb && !stranger.empty()) {
        std::string meant = did_you_mean(stranger, names_of_verbs(app));
        say("holdfast: there is no '{}' to do{} see 'holdfast --help'\n", in_one_line(stranger),
            meant.empty() ? ":" : meant);
    } else if (lacks_verb) {
        say("holdfast: there is nothing to do: give a verb, as in 'holdfast run -- ./server': see 'holdfast --help'\n");
    } else if (dynamic_cast<const CLI::ExtrasError *>(&error)) {
        say("holdfast: '{}' is one word too many: see '{} --help'\n", in_one_line(stranger), full_name);
    } else {
        std::string what = missing_in(verb, error);
        what = what.empty() ? clash_in(error) : what;
        say("holdfast: {}: see '{} --help'\n", in_one_line(what.empty() ? error.what() : what), full_name);
    }
    return holdfast::cli::exit_usage;
}

holdfast::cli::ending carry_out(int argc, char **argv) {
    using namespace holdfast::cli;
    CLI::App app{"Locks for Linux whose speed does not depend on how many threads run.", "holdfast"};
    app.require_subcommand(1);
    app.set_version_flag("-V,--version", std::string("holdfast ") + hf_version());
    app.footer("Examples:\n"
               "  holdfast run -- ./server --threads 64\n"
               "  holdfast compare --locks glibc,flexguard --metric 'ops/s: ([0-9.]+)' -- ./benchmark\n"
               "  holdfast bench shared-memory --threads 1,4,16,64 --json cells.json --plot cells.svg\n"
               "  holdfast simulate shared-memory --machine hundred-four --threads 52,104,156\n"
               "  sudo holdfast monitor\n"
               "  sudo holdfast top\n"
               "  sudo holdfast record --pid 1234 --seconds 10\n"
               "  holdfast doctor");

    action chosen;
    add_run(app, chosen);
    add_compare(app, chosen);
    add_bench(app, chosen);
    add_doctor(app, chosen);
    add_monitor(app, chosen);
    add_oversub(app, chosen);
    add_top(app, chosen);
    add_record(app, chosen);
    add_report(app, chosen);
    add_completion(app, chosen);
    add_simulate(app, chosen);

    try {
        std::vector<std::string> words = with_program_marked(app, with_habits_understood(app, {argv + 1, argv + argc}));
        if (std::string list = list_with_empty_item(app, words); !list.empty()) {
            say("holdfast: {} has an empty item: leave out the comma that is too much\n", in_one_line(list));
            return exit_usage;
        }
        std::reverse(words.begin(), words.end()); // as CLI11 wants them
        app.parse(std::move(words));
    } catch (const CLI::ParseError &error) {
        return explain(app, error);
    }
    try {
        auto of_verb = chosen();
        return app.got_subcommand("run") || app.got_subcommand("record") ? of_verb : checked(of_verb);
    } catch (const usage_error &error) {
        say("holdfast: {}\n", in_one_line(error.what()));
        return exit_usage;
    } catch (const failure &error) {
        say("holdfast: {}\n", in_one_line(error.what()));
        return error.status();
    } catch (const std::exception &error) {
        say("holdfast: {}\n", in_one_line(sentence_of(error)));
        return exit_holdfast_failed;
    }
}

} // namespace

int main(int argc, char **argv) {
    take_missing_standard_descriptors();
    return carry_out(argc, argv).take();
}
