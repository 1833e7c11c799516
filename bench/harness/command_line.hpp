// SPDX-License-Identifier: MIT OR Apache-2.0
// How a program of bench/ begins and ends: its options are read, its result is checked, and what went wrong is one
// sentence on standard error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace holdfast::bench {

inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

// "--name", the variable that it sets, which holds the default, and what it may be. A default that it may not be is
// none: nobody is told of it.
class option {
public:
    option(const char *name, unsigned &value, unsigned min, unsigned max, const char *help);
    option(const char *name, std::uint64_t &value, std::uint64_t min, std::uint64_t max, const char *help);
    option(const char *name, double &value, double min, double max, const char *help);
    // `allowed` empty: any.
    option(const char *name, std::string &value, const std::vector<std::string> &allowed, const char *help);
    // Given or not.
    option(const char *name, bool &value, const char *help);
    // Words, one or more of which have to be given; `name` has no dashes then.
    option(const char *name, std::vector<std::string> &values, const char *help);

    void add_to(CLI::App &app) const { add_(app); }

private:
    std::function<void(CLI::App &app)> add_;
};

struct command_line {
    std::string name;
    std::string summary;
    std::vector<option> options;
    std::string footer = {};
};

// Sets what the options name. Empty, or the status to exit with: after --help, or a sentence about a wrong option.
std::optional<int> parse(const command_line &what, int argc, char **argv);

// What each workload is told of its team.
option threads_option(unsigned &threads);
option seconds_option(double &seconds);

// The status to exit with.
int run_checked(const std::string &name, const std::function<void()> &run);

} // namespace holdfast::bench
