// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that begin together, repeat one operation until they are told to stop, and time each from the request of the
// lock to its release. They are not pinned: where they run is the scheduler's choice, as in the programs we care for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <semaphore>
#include <vector>

#include "base/clock.h"
#include "base/cpu.h"
#include "harness/histogram.hpp"
#include "harness/process_use.hpp"
#include "measure/result_record.hpp"

extern __thread std::uint64_t hf_polls; // peers/poll_count.h, which would count the polls of the harness, too

namespace holdfast::bench {

struct thread_result {
    std::uint64_t operations = 0; // that ended within the measurement
    std::uint64_t held_ticks = 0; // time inside, of those operations; 0 where it is not measured
    std::uint64_t polls = 0;      // since the warm-up
    double cpu_s = 0;             // where the CPU time of each was asked for
    histogram wait_ticks;         // from request to release, the operation that the stop found under way included
};

struct team_result {
    double elapsed_s = 0; // of the measurement
    process_use use;      // from the measurement's beginning to the last thread's end
    std::vector<thread_result> threads;
    bool has_cpu_of_each = false;
    std::optional<double> share_error;          // see result_record
    std::vector<cli::runnable_sample> runnable; // likewise
};

//               every thread has done an operation                    time is over
//     WARMING_UP ---------------------------------> MEASURING ---------------------> STOPPED
//
// Set by the team, polled by its threads. Without the first phase a short measurement would show how threads start: a
// lock works well as long as most of its threads have not come yet.
enum class phase : std::uint32_t { warming_up, measuring, stopped };

class team_phase {
public:
    phase now() const noexcept { return now_.load(std::memory_order_relaxed); }
    void set(phase next) noexcept { now_.store(next, std::memory_order_relaxed); }

    // Each thread says once that it has done an operation; the last one lets wait_until_warm() return.
    void first_operation_done() noexcept {
        if (cold_.fetch_sub(1, std::memory_order_relaxed) == 1)
            all_warm_.release();
    }
    void wait_until_warm(double seconds_max) {
        [[maybe_unused]] bool in_time = all_warm_.try_acquire_for(std::chrono::duration<double>(seconds_max));
    }

    explicit team_phase(unsigned threads) : cold_(threads) {}

private:
    // Polled by all in every turn: nothing that is written meanwhile may share its line.
    alignas(HF_CACHE_LINE_BYTES) std::atomic<phase> now_ = phase::warming_up;
    alignas(HF_CACHE_LINE_BYTES) std::atomic<unsigned> cold_;
    std::binary_semaphore all_warm_{0};
};

using thread_body = std::function<void(unsigned thread, team_phase &phase, thread_result &result)>;

// Whether what each thread used of the CPUs is measured: a system call a thread at the measurement's beginning and end.
enum class cpu_time { of_all, of_each_thread };

// Runs `body` in that many threads: a warm-up that ends when every thread has done an operation, or after `seconds`;
// then a measurement of `seconds`. Returns once all threads have ended; one that waits for a lock when the stop comes
// ends after it got it. Throws std::system_error when a thread can't be started.
team_result run_team(unsigned threads, double seconds, const thread_body &body, cpu_time measured = cpu_time::of_all);

// One thread's loop. A Worker has prepare(now), outside the measured time; operate(), which takes a lock, works and
// gives the lock back; and rest(released), the pause after it.
template <class Worker>
void repeat_until_stopped(team_phase &team, Worker &worker, thread_result &result) {
    bool warm = false;
    std::uint64_t polls_before = 0;
    std::uint64_t released = hf_ticks();
    for (;;) {
        worker.prepare(released);
        std::uint64_t requested = hf_ticks();
        worker.operate();
        released = hf_ticks();
        phase now = team.now();
        if (now != phase::warming_up) [[likely]] {
            // Counters of two CPUs may differ a little.
            result.wait_ticks.add(released > requested ? released - requested : 0);
            if (now == phase::stopped)
                break;
            result.operations++;
        } else {
            polls_before = hf_polls;
            if (!warm)
                team.first_operation_done();
            warm = true;
        }
        worker.rest(released);
    }
    result.polls = hf_polls - polls_before;
}

} // namespace holdfast::bench
