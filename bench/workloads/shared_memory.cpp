// SPDX-License-Identifier: MIT OR Apache-2.0
// The paper's micro-benchmark (FlexGuard, section 5.2): every thread loops: lock, read and write two shared cache
// lines, unlock, spin for 100 cycles. One lock: all that is measured is how it is handed over.
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/cpu.h"
#include "harness/busy_work.hpp"
#include "harness/workload_main.hpp"

namespace {

using namespace holdfast::bench;

constexpr std::uint64_t usual_rest_ticks = 100; // as in the paper; --between-us sets another time

struct alignas(HF_CACHE_LINE_BYTES) shared_line {
    volatile std::uint64_t count = 0; // volatile: read and written each time, though only the sum matters
};

struct shared_state {
    shared_line first;
    shared_line second;
};

struct worker {
    const hf_lock_kind &kind;
    void *lock;
    shared_state &shared;
    std::uint64_t rest_ticks;
    std::uint64_t done = 0;

    void prepare(std::uint64_t) {}
    void operate() {
        kind.lock(lock);
        shared.first.count = shared.first.count + 1;
        shared.second.count = shared.second.count + 1;
        kind.unlock(lock);
        done++;
    }
    void rest(std::uint64_t released) {
        while (hf_ticks() - released < rest_ticks)
            continue;
    }
};

team_result run(const workload_options &options) {
    lock_array locks(*options.lock, 1);
    shared_state shared;
    std::uint64_t rest_ticks = options.between_us < 0 ? usual_rest_ticks : ticks_of_us(options.between_us);
    std::atomic<std::uint64_t> operations = 0;
    auto result = run_team(options.threads, options.seconds, [&](unsigned, team_phase &phase, thread_result &own) {
        worker one{*options.lock, locks[0], shared, rest_ticks};
        repeat_until_stopped(phase, one, own);
        operations += one.done;
    });

    if (shared.first.count != operations || shared.second.count != operations)
        throw exclusion_violated("the shared lines do not count all operations: the lock let two threads in at once");
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return workload_main(argc, argv, "shared-memory", run, further_options::time_between);
}
