// SPDX-License-Identifier: MIT OR Apache-2.0
// CLI11 is compiled here, once for all of them.
#include "harness/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <fmt/core.h>

#include "harness/wrong_result.hpp"
#include "measure/number_range.hpp"
#include "measure/workload.hpp"

namespace holdfast::bench {
namespace {

template <class Number>
std::function<void(CLI::App &)> number(const char *name, Number &value, Number min, Number max, const char *help) {
    return [=, &value](CLI::App &app) {
        CLI::Option *added = app.add_option(name, value, help)->check(cli::from_to(min, max));
        if (value >= min && value <= max)
            added->capture_default_str();
    };
}

} // namespace

option::option(const char *name, unsigned &value, unsigned min, unsigned max, const char *help)
    : add_(number(name, value, min, max, help)) {}
option::option(const char *name, std::uint64_t &value, std::uint64_t min, std::uint64_t max, const char *help)
    : add_(number(name, value, min, max, help)) {}
option::option(const char *name, double &value, double min, double max, const char *help)
    : add_(number(name, value, min, max, help)) {}
option::option(const char *name, std::string &value, const std::vector<std::string> &allowed, const char *help)
    : add_([=, &value](CLI::App &app) {
          CLI::Option *added = app.add_option(name, value, help);
          if (!allowed.empty())
              added->check(CLI::IsMember(allowed));
          if (allowed.empty() ? !value.empty() : std::ranges::find(allowed, value) != allowed.end())
              added->capture_default_str();
      }) {}
option::option(const char *name, bool &value, const char *help)
    : add_([=, &value](CLI::App &app) { app.add_flag(name, value, help); }) {}
option::option(const char *name, std::vector<std::string> &values, const char *help)
    : add_([=, &values](CLI::App &app) { app.add_option(name, values, help)->required(); }) {}

option threads_option(unsigned &threads) {
    return {"--threads", threads, 1, cli::threads_max, "Number of threads"};
}

option seconds_option(double &seconds) {
    return {"--seconds", seconds, cli::seconds_min, cli::seconds_max, "How long to measure"};
}

std::optional<int> parse(const command_line &what, int argc, char **argv) {
    CLI::App app{what.summary, what.name};
    app.footer(what.footer);
    for (const option &one : what.options)
        one.add_to(app);
    try {
        app.parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0)
            return app.exit(error);
        fmt::print(stderr, "{}: {}\n", what.name, error.what());
        return exit_usage;
    }
}

int run_checked(const std::string &name, const std::function<void()> &run) {
    try {
        run();
        return 0;
    } catch (const wrong_result &error) {
        fmt::print(stderr, "{}: wrong result: {}\n", name, error.what());
    } catch (const std::exception &error) {
        fmt::print(stderr, "{}: {}\n", name, error.what());
    }
    return exit_failed;
}

} // namespace holdfast::bench
