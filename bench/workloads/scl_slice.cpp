// SPDX-License-Identifier: MIT OR Apache-2.0
// Slices by sections (SCL, section 5.4): threads that all hold one lock for as long (--section-us) and come again at
// once, with slices of a given length (--slice-us). What a slice costs: a short one hands the lock over often, a long
// one makes the others wait.
#include <atomic>

#include "harness/busy_work.hpp"
#include "harness/workload_main.hpp"

namespace {

using namespace holdfast::bench;

struct worker {
    const hf_lock_kind &kind;
    void *lock;
    std::uint64_t &sections; // all threads'
    std::uint64_t section_ticks;
    std::uint64_t &held_ticks;
    team_phase &phase;
    std::uint64_t held = 0;
    std::uint64_t done = 0;

    void prepare(std::uint64_t) {}
    void operate() {
        kind.lock(lock);
        std::uint64_t began = hf_ticks();
        std::uint64_t before = sections;
        work_for(section_ticks);
        sections = before + 1;
        held = hf_ticks() - began;
        kind.unlock(lock);
        done++;
    }
    void rest(std::uint64_t) {
        if (phase.now() == phase::measuring) // not how the last threads end, or begin
            held_ticks += held;
    }
};

team_result run(const workload_options &options) {
    lock_array locks(*options.lock, 1);
    std::uint64_t sections = 0;
    std::atomic<std::uint64_t> done = 0;
    std::uint64_t section_ticks = ticks_of_us(options.section_us < 0 ? 1 : options.section_us);
    auto result = run_team(options.threads, options.seconds, [&](unsigned, team_phase &phase, thread_result &own) {
        worker one{*options.lock, locks[0], sections, section_ticks, own.held_ticks, phase};
        repeat_until_stopped(phase, one, own);
        done += one.done;
    });
    if (sections != done)
        throw exclusion_violated("not all sections were counted: the lock let two threads in at once");
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return workload_main(argc, argv, "scl-slice", run, further_options::slice_and_section);
}
