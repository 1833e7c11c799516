// SPDX-License-Identifier: MIT OR Apache-2.0
// The toy of the SCL paper, sections of 10 s and 1 s, a thousandth as long: threads with an even number hold the lock
// for 10 milliseconds (ten times --section-us), the others for 1, and come again at once. What is compared is what each
// thread gets: the processor, the lock, and the opportunity to use it.
#include <algorithm>

#include "harness/busy_work.hpp"
#include "harness/workload_main.hpp"

namespace {

using namespace holdfast::bench;

constexpr double look_us = 5;

struct worker {
    const hf_lock_kind &kind;
    void *lock;
    std::uint64_t section_ticks;
    std::uint64_t &held_ticks;
    team_phase &phase;

    void prepare(std::uint64_t) {}
    void operate() {
        kind.lock(lock);
        hold();
        kind.unlock(lock);
    }
    void rest(std::uint64_t) {}

private:
    // A section is long against the measurement: what of it is outside does not count, and its end ends the section.
    void hold() {
        std::uint64_t began = hf_ticks(), look_ticks = ticks_of_us(look_us);
        for (std::uint64_t now = began; now - began < section_ticks;) {
            auto before = phase.now();
            if (before == phase::stopped)
                return;
            work_for(std::min(look_ticks, section_ticks - (now - began)));
            std::uint64_t until = hf_ticks();
            // Not one that the stop found under way: a thread that has lost the CPU in it ends it much later.
            if (before == phase::measuring && phase.now() == phase::measuring)
                held_ticks += until - now;
            now = until;
        }
    }
};

team_result run(const workload_options &options) {
    lock_array locks(*options.lock, 1);
    double us = options.section_us < 0 ? 1000 : options.section_us;
    auto body = [&](unsigned number, team_phase &phase, thread_result &own) {
        worker one{*options.lock, locks[0], ticks_of_us(number % 2 ? us : 10 * us), own.held_ticks, phase};
        repeat_until_stopped(phase, one, own);
    };
    return run_team(options.threads, options.seconds, body, cpu_time::of_each_thread);
}

} // namespace

int main(int argc, char **argv) {
    return workload_main(argc, argv, "scl-toy", run, further_options::slice_and_section);
}
