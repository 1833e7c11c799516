// SPDX-License-Identifier: MIT OR Apache-2.0
// What the tasks of the CES paper's Figure 8 do. The programs in coro/peers do the same with the same numbers.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/cpu.h"

namespace holdfast::bench {

inline void spin_us(double us) {
    if (us <= 0)
        return;
    std::uint64_t until = hf_monotonic_ns() + std::uint64_t(us * 1000);
    while (hf_monotonic_ns() < until)
        hf_pause();
}

inline bool is_prime(unsigned odd) {
    for (unsigned divisor = 3; divisor * divisor <= odd; divisor += 2)
        if (odd % divisor == 0)
            return false;
    return true;
}

// The work of a loop beside its lock is not inlined: all contenders of a program run the same copy. (As a part of each
// one's loop it was placed differently in memory, which moved single contenders by 1 to 2%.)

// From 1,000 to some 2,030.
[[gnu::noinline]] inline unsigned random_prime(unsigned &seed) {
    seed = seed * 1664525u + 1013904223u; // Knuth's and Lewis's generator
    unsigned candidate = (1000 + (seed >> 22)) | 1;
    while (!is_prime(candidate))
        candidate += 2;
    return candidate;
}

// All divisors up to a quarter are tried: some 0.8 us, as long as the rest of a loop.
inline unsigned largest_factor(unsigned number) {
    unsigned last = number;
    for (unsigned divisor = 2; divisor <= number / 4; divisor++)
        if (number % divisor == 0)
            last = divisor;
    return last;
}

[[gnu::noinline]] inline void factor(unsigned number) {
    volatile unsigned result = largest_factor(number);
    static_cast<void>(result);
}

// So that neighbouring tasks find different primes.
inline unsigned seed_of(unsigned task) {
    return 7919 * task;
}

} // namespace holdfast::bench
