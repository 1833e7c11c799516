// SPDX-License-Identifier: MIT OR Apache-2.0
#include "programs/program.hpp"

#include <chrono>
#include <fmt/core.h>
#include <latch>
#include <thread>

namespace holdfast::bench {

using clock_type = std::chrono::steady_clock;

void expect(bool holds, const char *sentence) {
    if (!holds)
        throw wrong_result(sentence);
}

int program_main(int argc, char **argv, const program &what) {
    program_options options;
    command_line line{
        .name = what.name,
        .summary = what.summary,
        .options = {{"--threads", options.threads, 1, 10000, "Number of threads"},
                    {"--seconds", options.seconds, 0.001, 86400, "How long it runs, or each of its phases"}},
        .footer = std::string("Prints figures, and fails when its result is wrong.\n"
                              "Example: holdfast compare --metric ': ([0-9]+)' -- ") +
                  what.name + " --threads 16",
    };
    line.options.insert(line.options.end(), what.options.begin(), what.options.end());
    if (auto status = parse(line, argc, argv))
        return *status;
    return run_checked(what.name, [&] {
        for (const figure &one : what.run(options))
            fmt::print("{} : {:.0f} {}\n", one.name, one.value, one.unit);
    });
}

double run_threads(unsigned count, const std::function<void(unsigned thread)> &body,
                   const std::function<void()> &meanwhile) {
    std::latch ready(count), start(1);
    std::atomic<bool> failed = false;
    std::exception_ptr trouble;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; i++)
        threads.emplace_back([&, i] {
            ready.count_down();
            start.wait();
            try {
                body(i);
            } catch (...) {
                if (!failed.exchange(true))
                    trouble = std::current_exception(); // read after the threads have been joined
            }
        });
    ready.wait();
    auto began = clock_type::now();
    start.count_down();
    meanwhile();
    for (auto &thread : threads)
        thread.join();
    std::chrono::duration<double> took = clock_type::now() - began;
    if (trouble)
        std::rethrow_exception(trouble);
    return took.count();
}

timed_run run_until_stopped(const program_options &options,
                            const std::function<std::uint64_t(unsigned thread, const stop_sign &stop)> &body) {
    stop_sign stop;
    std::atomic<std::uint64_t> operations = 0;
    double elapsed_s = run_threads(
        options.threads, [&](unsigned thread) { operations += body(thread, stop); },
        [&] {
            std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
            stop.set();
        });
    return {operations, elapsed_s};
}

} // namespace holdfast::bench
