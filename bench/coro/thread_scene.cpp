// SPDX-License-Identifier: MIT OR Apache-2.0
#include "coro/thread_scene.hpp"

#include <atomic>
#include <thread>

#include "coro/prime_work.hpp"
#include "harness/migration_counter.hpp"

namespace holdfast::bench {

thread_scene_result
run_threads(const cell_options &options,
            const std::function<std::uint64_t(unsigned number, const stop_sign &stop, bool noted)> &work) {
    thread_scene_result result;
    for (bool noted : {false, true}) {
        std::atomic<std::uint64_t> operations = 0, turns = 0;
        std::atomic<double> migrations = 0;
        std::atomic<bool> has_migrations = true;
        process_use use_before = use_of_process();
        program_options threads{options.tasks + options.bystanders, noted ? options.seconds : options.seconds / 3};
        timed_run took = run_until_stopped(threads, [&](unsigned number, const stop_sign &stop) {
            if (number < options.tasks) {
                operations += work(number, stop, noted);
            } else {
                for (; !stop.is_set(); turns++, std::this_thread::yield())
                    spin_us(options.bystander_us);
            }
            std::optional<double> own = migrations_of_this_thread();
            migrations += own.value_or(0);
            if (!own)
                has_migrations = false;
            return std::uint64_t{0};
        });
        result.cell.elapsed_s = took.elapsed_s;
        result.cell.use = use_of_process().since(use_before);
        if (has_migrations)
            result.cell.use.migrations = migrations;
        result.cell.operations = operations;
        result.cell.bystander_turns = turns;
        result.operations += operations;
    }
    return result;
}

} // namespace holdfast::bench
