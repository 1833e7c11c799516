// SPDX-License-Identifier: MIT OR Apache-2.0
// Shares by weight (SCL, section 5.2): two kinds of threads that hold the lock for as long, at nice values that make
// their weights some 3:1, 2:1, 1:1, 1:2 and 1:3, one ratio after the other, each for a fifth of the time. share_error
// is how far a thread's share of the time inside was from its share of the weights, relative to that, at worst.
#include <algorithm>
#include <cmath>
#include <sys/resource.h>

#include "harness/busy_work.hpp"
#include "harness/workload_main.hpp"
#include "lock/scl/share.h"

namespace {

using namespace holdfast::bench;

// Of threads with even and odd numbers. Not below 0: that would take privileges.
struct niceness {
    int of[2];
};
constexpr niceness ratios[] = {{{0, 5}}, {{0, 3}}, {{0, 0}}, {{3, 0}}, {{5, 0}}};
constexpr double ratio_count = 5;

struct worker {
    const hf_lock_kind &kind;
    void *lock;
    std::uint64_t section_ticks;
    std::uint64_t &held_ticks;
    team_phase &phase;
    std::uint64_t held = 0;

    void prepare(std::uint64_t) {}
    void operate() {
        kind.lock(lock);
        std::uint64_t began = hf_ticks();
        work_for(section_ticks);
        held = hf_ticks() - began;
        kind.unlock(lock);
    }
    void rest(std::uint64_t) {
        if (phase.now() == phase::measuring) // not how the last threads end, or begin
            held_ticks += held;
    }
};

double worst_error(const team_result &result, const niceness &nice) {
    double weights = 0, held = 0, worst = 0;
    for (std::size_t i = 0; i < result.threads.size(); i++) {
        weights += hf_weight_of_nice(nice.of[i % 2]);
        held += static_cast<double>(result.threads[i].held_ticks);
    }
    for (std::size_t i = 0; i < result.threads.size(); i++) {
        double due = hf_weight_of_nice(nice.of[i % 2]) / weights;
        double had = held > 0 ? static_cast<double>(result.threads[i].held_ticks) / held : 0;
        worst = std::max(worst, std::abs(had - due) / due);
    }
    return worst;
}

void add(team_result &sum, const team_result &one) {
    sum.elapsed_s += one.elapsed_s;
    sum.use += one.use;
    sum.threads.resize(one.threads.size());
    for (std::size_t i = 0; i < one.threads.size(); i++) {
        sum.threads[i].operations += one.threads[i].operations;
        sum.threads[i].wait_ticks.merge(one.threads[i].wait_ticks);
    }
}

team_result run(const workload_options &options) {
    team_result all;
    all.share_error = 0;
    all.use.migrations = 0;
    double us = options.section_us < 0 ? 1 : options.section_us;
    for (const auto &nice : ratios) {
        lock_array locks(*options.lock, 1);
        auto one = run_team(options.threads, options.seconds / ratio_count,
                            [&](unsigned number, team_phase &phase, thread_result &own) {
                                setpriority(PRIO_PROCESS, 0, nice.of[number % 2]); // of this thread
                                worker self{*options.lock, locks[0], ticks_of_us(us), own.held_ticks, phase};
                                repeat_until_stopped(phase, self, own);
                            });
        all.share_error = std::max(*all.share_error, worst_error(one, nice));
        add(all, one);
    }
    return all;
}

} // namespace

int main(int argc, char **argv) {
    return workload_main(argc, argv, "scl-proportion", run, further_options::slice_and_section);
}
