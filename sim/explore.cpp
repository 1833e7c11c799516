// SPDX-License-Identifier: MIT OR Apache-2.0
// Tries the locks' code under orders of accesses that no machine would show soon: scenarios/scenario.hpp. Each seed is
// a process of its own, since what the locks keep in memory is theirs for good. A failure prints the seed that repeats
// it.
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenarios/scenario.hpp"

namespace {

using namespace holdfast::sim;

constexpr unsigned seconds_a_seed_max = 60;

// Whether all held.
bool try_in_child(const scenario &what, std::uint64_t seed) {
    std::fflush(nullptr);
    pid_t child = fork();
    if (child < 0) {
        fmt::print(stderr, "explore: no process to be had\n");
        std::exit(2);
    }
    if (child == 0) {
        alarm(seconds_a_seed_max); // of the host: an endless loop that makes no step
        std::string wrong = try_once(what, seed);
        if (!wrong.empty())
            fmt::print(stderr, "{}\n", wrong);
        std::fflush(nullptr);
        _exit(wrong.empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status))
        fmt::print(stderr, "ended by signal {}\n", WTERMSIG(status));
    fmt::print("{}: FAILED with seed {}\n", what.name, seed);
    return false;
}

} // namespace

int main(int argc, char **argv) {
    std::vector<std::string> names;
    std::uint64_t first = 1;
    std::uint64_t seeds = 0;
    double seconds = 0;
    CLI::App app{"Tries the locks under random orders of accesses, delayed stores and a moody kernel.", "explore"};
    app.add_option("--scenarios", names, "Which: all unless named")->delimiter(',');
    app.add_option("--seed", first, "The first seed")->capture_default_str();
    app.add_option("--seeds", seeds, "How many of each scenario; 1 unless --seconds says how long");
    app.add_option("--seconds", seconds, "For how long, the scenarios by turns");
    CLI11_PARSE(app, argc, argv);
    std::vector<scenario> chosen;
    for (const auto &one : scenarios()) {
        if (names.empty() || std::find(names.begin(), names.end(), one.name) != names.end())
            chosen.push_back(one);
    }
    if (chosen.empty() || (!names.empty() && chosen.size() != names.size())) {
        std::vector<std::string> known;
        for (const auto &one : scenarios())
            known.push_back(one.name);
        fmt::print(stderr, "explore: scenarios are {}\n", fmt::join(known, ", "));
        return 2;
    }
    if (seeds == 0 && seconds == 0)
        seeds = 1;
    auto begin = std::chrono::steady_clock::now();
    auto is_over = [&](std::uint64_t tried) {
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        return (seeds > 0 && tried >= seeds) || (seconds > 0 && took.count() >= seconds);
    };
    std::uint64_t tried = 0;
    for (; !is_over(tried); tried++) {
        for (const auto &one : chosen) {
            if (!try_in_child(one, first + tried))
                return 1;
            if (seconds > 0 && is_over(tried))
                break;
        }
    }
    fmt::print("{} seeds of {} scenarios, from {} on: all held\n", tried, chosen.size(), first);
    return 0;
}
