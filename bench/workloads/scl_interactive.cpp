// SPDX-License-Identifier: MIT OR Apache-2.0
// Interactive threads beside a batch thread (SCL, section 5.4): thread 0 holds the lock for 100 microseconds, or for
// --section-us, and comes again at once; each other one holds it for a tenth of that, then sleeps for ten such sections
// on average: sleeps that were all alike would keep step with the batch thread's turns (docs/uscl-figures.md). Waits
// are those of the interactive threads, from the request of the lock to the moment they have it.
#include <chrono>
#include <random>
#include <thread>

#include "harness/busy_work.hpp"
#include "harness/workload_main.hpp"

namespace {

using namespace holdfast::bench;

struct member {
    const hf_lock_kind &kind;
    void *lock;
    std::uint64_t section_ticks;
    double sleep_us; // on average; 0: the batch thread
    std::minstd_rand random;

    void sleep() {
        double us = std::uniform_real_distribution(sleep_us / 2, sleep_us * 3 / 2)(random);
        std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
    }

    // Returns how long it waited.
    std::uint64_t operate(thread_result &own) {
        std::uint64_t requested = hf_ticks();
        kind.lock(lock);
        std::uint64_t began = hf_ticks();
        work_for(section_ticks);
        own.held_ticks += hf_ticks() - began;
        kind.unlock(lock);
        if (sleep_us > 0)
            sleep();
        return began > requested ? began - requested : 0;
    }
};

void repeat(team_phase &team, member one, thread_result &own) {
    for (bool warm = false; team.now() != phase::stopped; warm = true) {
        std::uint64_t waited = one.operate(own);
        if (team.now() == phase::measuring) {
            own.operations++;
            if (one.sleep_us > 0)
                own.wait_ticks.add(waited);
        } else if (!warm) {
            team.first_operation_done();
            own.held_ticks = 0;
        }
    }
}

team_result run(const workload_options &options) {
    lock_array locks(*options.lock, 1);
    double us = options.section_us < 0 ? 100 : options.section_us;
    return run_team(options.threads, options.seconds, [&](unsigned number, team_phase &phase, thread_result &own) {
        bool batch = number == 0;
        repeat(
            phase,
            {*options.lock, locks[0], ticks_of_us(batch ? us : us / 10), batch ? 0 : us * 10, std::minstd_rand(number)},
            own);
    });
}

} // namespace

int main(int argc, char **argv) {
    return workload_main(argc, argv, "scl-interactive", run, further_options::slice_and_section);
}
