// SPDX-License-Identifier: MIT OR Apache-2.0
// Phases with a barrier of a mutex and a condition variable between them, and shares of work that differ: a thread that
// has the least waits for a thread that has the most.
#include <memory>
#include <vector>

#include "harness/pthread_workload.hpp"

namespace {

using namespace holdfast::bench;

// From 0 to 2, 1 in the mean: by the thread and the phase, so that all contenders have the same shares.
double share_of(unsigned thread, std::uint64_t number) {
    std::uint64_t mixed = (thread + 1) * 0x9e3779b97f4a7c15u + number * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 30)) * 0x94d049bb133111ebu;
    return static_cast<double>((mixed ^ (mixed >> 31)) >> 11) * 0x1p-52;
}

struct state {
    explicit state(unsigned threads) : barrier(threads), reached(threads) {}

    cond_barrier barrier;
    std::vector<std::uint64_t> reached; // by each thread
    bool over = false;
    bool together = true; // at each barrier, all had reached the same phase
};

void take_part(state &all, unsigned thread, double work_us, team_phase &team, thread_result &own) {
    operation_counter done(team, own);
    for (std::uint64_t number = 0; !all.over; number++) {
        use_cpu(work_us * share_of(thread, number));
        all.reached[thread] = number;
        std::uint64_t arrived = hf_ticks();
        all.barrier.wait([&] {
            for (std::uint64_t one : all.reached)
                all.together = all.together && one == number;
            all.over = team.now() == phase::stopped;
        });
        done.add(hf_ticks() - arrived);
    }
}

team_result run(const pthread_workload_options &options) {
    auto all = std::make_unique<state>(options.threads);
    team_result result =
        run_team(options.threads, options.seconds, [&](unsigned thread, team_phase &team, thread_result &own) {
            take_part(*all, thread, options.work_us, team, own);
        });
    if (!all->together)
        throw wrong_result("a thread passed a barrier that not all had reached");
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return pthread_workload_main(argc, argv, {"phases", 100, "Microseconds of a thread's share of a phase, mean", run});
}
