// SPDX-License-Identifier: MIT OR Apache-2.0
// Fairness in time (SCL, section 5.1): threads that hold the lock for 1 microsecond at a time, and as many that hold it
// for 3, and come again at once. What is compared is how long each has held it, not how often.
#include "harness/busy_work.hpp"
#include "harness/workload_main.hpp"

namespace {

using namespace holdfast::bench;

struct worker {
    const hf_lock_kind &kind;
    void *lock;
    unsigned long &shared;
    std::uint64_t section_ticks;
    std::uint64_t &held_ticks;
    std::uint64_t held = 0;

    void prepare(std::uint64_t) {}
    void operate() {
        kind.lock(lock);
        std::uint64_t began = hf_ticks();
        shared = shared + 1;
        work_for(section_ticks);
        held = hf_ticks() - began;
        kind.unlock(lock);
    }
    void rest(std::uint64_t) { held_ticks += held; }
};

team_result run(const workload_options &options) {
    lock_array locks(*options.lock, 1);
    unsigned long shared = 0;
    double us = options.section_us < 0 ? 1 : options.section_us;
    return run_team(options.threads, options.seconds, [&](unsigned number, team_phase &phase, thread_result &own) {
        worker one{*options.lock, locks[0], shared, ticks_of_us(number % 2 ? 3 * us : us), own.held_ticks};
        repeat_until_stopped(phase, one, own);
    });
}

} // namespace

int main(int argc, char **argv) {
    return workload_main(argc, argv, "scl-fairness", run, further_options::slice_and_section);
}
