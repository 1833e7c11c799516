// SPDX-License-Identifier: MIT OR Apache-2.0
// What a lock costs (SCL, section 5.3): every thread takes it and gives it back, with nothing inside (or --section-us)
// and nothing between.
#include "harness/busy_work.hpp"
#include "harness/workload_main.hpp"

namespace {

using namespace holdfast::bench;

struct worker {
    const hf_lock_kind &kind;
    void *lock;
    std::uint64_t section_ticks;

    void prepare(std::uint64_t) {}
    void operate() {
        kind.lock(lock);
        if (section_ticks)
            work_for(section_ticks);
        kind.unlock(lock);
    }
    void rest(std::uint64_t) {}
};

team_result run(const workload_options &options) {
    lock_array locks(*options.lock, 1);
    std::uint64_t section_ticks = options.section_us > 0 ? ticks_of_us(options.section_us) : 0;
    return run_team(options.threads, options.seconds, [&](unsigned, team_phase &phase, thread_result &own) {
        worker one{*options.lock, locks[0], section_ticks};
        repeat_until_stopped(phase, one, own);
    });
}

} // namespace

int main(int argc, char **argv) {
    return workload_main(argc, argv, "scl-overhead", run, further_options::slice_and_section);
}
