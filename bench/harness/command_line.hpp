// SPDX-License-Identifier: MIT OR Apache-2.0
// How a program of bench/ begins and ends: its options are read, its result is checked, and what went wrong is one
// sentence on standard error.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <fmt/core.h>
#include <optional>
#include <string>

#include "harness/wrong_result.hpp"

namespace holdfast::bench {

inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

// Empty, or the status to exit with.
inline std::optional<int> parse(CLI::App &app, int argc, char **argv) {
    try {
        app.parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0)
            return app.exit(error);
        fmt::print(stderr, "{}: {}\n", app.get_name(), error.what());
        return exit_usage;
    }
}

// The status to exit with.
template <class Run>
int run_checked(const std::string &name, Run run) {
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
