// SPDX-License-Identifier: MIT OR Apache-2.0
// Computations in whole numbers, whose result does not depend on the number of threads: computed again and again, and
// compared each time with what one thread computes.
#pragma once

#include <memory>
#include <pthread.h>
#include <vector>

#include "programs/program.hpp"

namespace holdfast::bench {

class step_barrier {
public:
    explicit step_barrier(unsigned threads) { pthread_barrier_init(&barrier_, nullptr, threads); }
    ~step_barrier() { pthread_barrier_destroy(&barrier_); }
    step_barrier(const step_barrier &) = delete;
    step_barrier &operator=(const step_barrier &) = delete;

    void wait() { pthread_barrier_wait(&barrier_); }

private:
    pthread_barrier_t barrier_;
};

class computation {
public:
    virtual ~computation() = default;

    // By one thread, before the others work: the initial state.
    virtual void begin() = 0;
    // One thread's part, which waits for the other threads' where it needs theirs.
    virtual void work(unsigned thread) = 0;
    // By one thread, once all have worked.
    virtual std::uint64_t digest() const = 0;
};

// From `begin`, before `end`.
struct part {
    std::size_t begin, end;
};

// What the thread has of so many elements.
inline part part_of(std::size_t count, unsigned thread, unsigned threads) {
    return {count * thread / threads, count * (thread + 1) / threads};
}

template <class Number>
std::uint64_t digest_of(const std::vector<Number> &numbers) {
    std::uint64_t digest = 0;
    for (const Number &one : numbers)
        digest = (digest ^ static_cast<std::uint64_t>(one)) * 0x9e3779b97f4a7c15u + (digest >> 32);
    return digest;
}

// Whole numbers modulo a prime: a field, in which sums have no rounding errors and so no order.
namespace field {

constexpr std::uint64_t prime = 2147483647; // 2^31 - 1

inline std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    return (a + b) % prime;
}
inline std::uint64_t difference(std::uint64_t a, std::uint64_t b) {
    return (a + prime - b) % prime;
}
inline std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    return a * b % prime;
}
std::uint64_t inverse(std::uint64_t a);

} // namespace field

// The option that says how large a computation is.
struct size_option {
    const char *name;
    unsigned value; // unless another is given
    unsigned least, most;
    const char *help;
};

using make_computation = std::function<std::unique_ptr<computation>(unsigned size, unsigned threads)>;

// main() of a program that computes until the time is over, as program_main. A wrong result ends the process at once,
// since threads may then wait for what never comes. The figure's name is the program's.
int repeated_computation_main(int argc, char **argv, const char *name, const char *summary, size_option size,
                              const make_computation &make);

template <class Computation>
int computation_main(int argc, char **argv, const char *name, const char *summary, size_option size) {
    return repeated_computation_main(argc, argv, name, summary, size, [](unsigned value, unsigned threads) {
        return std::make_unique<Computation>(value, threads);
    });
}

} // namespace holdfast::bench
