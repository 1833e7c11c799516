// SPDX-License-Identifier: MIT OR Apache-2.0
// What the programs that `holdfast compare` runs have in common: options in, figures out, and a team of threads. They
// know nothing of Holdfast: every lock in them is pthread's, and the interposer changes it. Each checks its own result.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/command_line.hpp"
#include "harness/wrong_result.hpp"

namespace holdfast::bench {

struct program_options {
    unsigned threads = 4;
    double seconds = 1;
};

// Printed as "<name> : <value> <unit>", the value as a whole number.
struct figure {
    std::string name;
    double value;
    std::string unit = "ops/s";
};

// Throws wrong_result with the sentence when it does not hold.
void expect(bool holds, const char *sentence);

struct program {
    const char *name;
    const char *summary;
    std::vector<option> options; // besides --threads and --seconds
    std::function<std::vector<figure>(const program_options &)> run;
};

// main() of a program. Returns 0; 1 with a sentence on stderr when it failed or its result is wrong; 2 when an option
// is wrong.
int program_main(int argc, char **argv, const program &what);

// Runs the body in that many threads, which begin together, and `meanwhile` in the calling one. Returns how many
// seconds it took until all had ended. What a body throws is thrown here, once all have.
double run_threads(
    unsigned count, const std::function<void(unsigned thread)> &body, const std::function<void()> &meanwhile = [] {});

// Polled by threads between operations.
class stop_sign {
public:
    bool is_set() const noexcept { return set_.load(std::memory_order_relaxed); }
    void set() noexcept { set_.store(true, std::memory_order_relaxed); }

private:
    alignas(64) std::atomic<bool> set_ = false;
};

struct timed_run {
    std::uint64_t operations;
    double elapsed_s;

    double operations_a_second() const { return static_cast<double>(operations) / elapsed_s; }
};

// The same for bodies that go on until the stop is set, after options.seconds, and return how many operations they did.
timed_run run_until_stopped(const program_options &options,
                            const std::function<std::uint64_t(unsigned thread, const stop_sign &stop)> &body);

// Pseudo-random numbers that cost little (Vigna's splitmix64); each thread has its own.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}

    std::uint64_t next() noexcept {
        std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        return mixed ^ (mixed >> 31);
    }
    // From 0, below 1.
    double next_share() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
    std::uint64_t state_;
};

} // namespace holdfast::bench
