// SPDX-License-Identifier: MIT OR Apache-2.0
// One queue of tasks under one mutex: each worker takes a task, does it outside, and comes back. Tasks differ in length
// by a factor of 200, all orders of magnitude alike: 0.5 to 100 us unless told.
#include <cmath>
#include <vector>

#include "harness/pthread_workload.hpp"

namespace {

using namespace holdfast::bench;

constexpr double longest_of_shortest = 200;

struct state {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::uint64_t taken = 0;
    std::uint64_t random = 1;
    std::uint64_t sum_of_taken = 0; // of the tasks' numbers
};

struct task {
    std::uint64_t number;
    double share; // from 0 to 1, of the way from the shortest to the longest
};

task take(state &all) {
    mutex_guard guard(all.mutex);
    all.random = all.random * 6364136223846793005u + 1442695040888963407u;
    task taken{++all.taken, static_cast<double>(all.random >> 11) * 0x1p-53};
    all.sum_of_taken += taken.number;
    return taken;
}

team_result run(const pthread_workload_options &options) {
    state all;
    std::vector<std::uint64_t> sums(options.threads), counts(options.threads);
    team_result result =
        run_team(options.threads, options.seconds, [&](unsigned thread, team_phase &team, thread_result &own) {
            operation_counter done(team, own);
            while (team.now() != phase::stopped) {
                std::uint64_t asked = hf_ticks();
                task one = take(all);
                std::uint64_t waited = hf_ticks() - asked;
                use_cpu(options.work_us * std::pow(longest_of_shortest, one.share - 1));
                sums[thread] += one.number;
                counts[thread]++;
                done.add(waited);
            }
        });
    std::uint64_t sum = 0, count = 0;
    for (unsigned thread = 0; thread < options.threads; thread++) {
        sum += sums[thread];
        count += counts[thread];
    }
    if (count != all.taken || sum != all.sum_of_taken || sum != count * (count + 1) / 2)
        throw wrong_result("not every task was taken once: the mutex let two threads in at once");
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return pthread_workload_main(argc, argv, {"task-queue", 100, "Microseconds of the longest task", run});
}
