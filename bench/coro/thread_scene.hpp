// SPDX-License-Identifier: MIT OR Apache-2.0
// What scene is for tasks, with a thread for each: the yardstick of coroutines that stand for threads.
#pragma once

#include <functional>

#include "coro/cell.hpp"
#include "programs/program.hpp"

namespace holdfast::bench {

struct thread_scene_result {
    cell_result cell;
    std::uint64_t operations = 0; // also while warming up
};

// `work` runs in each of options.tasks threads until the stop: its operations. First for a third of the time, to warm
// up, then with `noted`; the threads of the two are others.
thread_scene_result
run_threads(const cell_options &options,
            const std::function<std::uint64_t(unsigned number, const stop_sign &stop, bool noted)> &work);

} // namespace holdfast::bench
