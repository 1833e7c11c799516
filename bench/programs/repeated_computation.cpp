// SPDX-License-Identifier: MIT OR Apache-2.0
#include "programs/repeated_computation.hpp"

#include <cstdlib>
#include <fmt/core.h>

namespace holdfast::bench {

std::uint64_t field::inverse(std::uint64_t a) {
    std::uint64_t power = 1;
    for (std::uint64_t exponent = prime - 2; exponent; exponent >>= 1) { // Fermat's little theorem
        if (exponent & 1)
            power = product(power, a);
        a = product(a, a);
    }
    return power;
}

namespace {

void expect_or_exit(const char *name, bool holds, const char *sentence) {
    if (holds)
        return;
    fmt::print(stderr, "{}: {}\n", name, sentence);
    std::_Exit(EXIT_FAILURE);
}

std::uint64_t digest_of_one_thread(computation &alone) {
    alone.begin();
    alone.work(0);
    return alone.digest();
}

std::vector<figure> compute_repeatedly(const char *name, const program_options &options, unsigned size,
                                       const make_computation &make) {
    const std::uint64_t expected = digest_of_one_thread(*make(size, 1));
    std::unique_ptr<computation> shared = make(size, options.threads);
    shared->begin();
    step_barrier barrier(options.threads);
    std::vector<std::uint64_t> round_of(options.threads);
    std::atomic<bool> over = false;
    timed_run done = run_until_stopped(options, [&](unsigned thread, const stop_sign &stop) {
        for (std::uint64_t round = 1;; round++) {
            shared->work(thread);
            round_of[thread] = round;
            barrier.wait();
            if (thread == 0) { // decides for all, so that they end after the same round
                for (std::uint64_t other : round_of)
                    expect_or_exit(name, other == round, "a thread was a round ahead");
                expect_or_exit(name, shared->digest() == expected, "the result is not the one that one thread finds");
                shared->begin();
                over = stop.is_set();
            }
            barrier.wait();
            if (over)
                return thread == 0 ? round : 0;
        }
    });
    return {{name, done.operations_a_second(), "rounds/s"}};
}

} // namespace

int repeated_computation_main(int argc, char **argv, const char *name, const char *summary, size_option size,
                              const make_computation &make) {
    return program_main(
        argc, argv,
        {.name = name,
         .summary = summary,
         .options = {{size.name, size.value, size.least, size.most, size.help}},
         .run = [&](const program_options &options) { return compute_repeatedly(name, options, size.value, make); }});
}

} // namespace holdfast::bench
