// SPDX-License-Identifier: MIT OR Apache-2.0
// Small programs with locks as strangers write them: each is one function that runs threads for some time, checks its
// own result, and returns how much was done. They know nothing of Holdfast.
//
// usage: patterns NAME THREADS SECONDS    prints "ops/s: N", and ends with 3 when a result is wrong
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

struct options {
    int threads;
    double seconds;
};

using pattern_function = double (*)(const options &);

struct pattern {
    pattern(const char *name, pattern_function run);

    const char *name;
    pattern_function run;
    pattern *next;
};

#define PATTERN(function, name)                                                                                        \
    static double function(const options &wanted);                                                                     \
    static const pattern pattern_##function(name, function);                                                           \
    static double function(const options &wanted)

// Ends the program unless it holds.
void check(bool holds, const char *what);

// Uses the CPU for about so many microseconds; the same work on every machine.
void work(double us);

// Set when the time is over.
inline std::atomic<bool> stop = false;

// Runs the body in so many threads until the time is over, then `at_stop`, and returns the sum of what they return.
double team(
    int threads, double seconds, const std::function<std::uint64_t(int thread)> &body,
    const std::function<void()> &at_stop = [] {});

// Calls the round, which returns how much it did, until the time is over; returns the sum.
double rounds(double seconds, const std::function<std::uint64_t()> &round);

// Pseudo-random numbers (Marsaglia's xorshift).
class numbers {
public:
    explicit numbers(int seed) : state_((static_cast<std::uint64_t>(seed) + 1) * 0x9e3779b97f4a7c15u) {}

    unsigned below(unsigned end) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<unsigned>(state_ % end);
    }

private:
    std::uint64_t state_;
};
