// SPDX-License-Identifier: MIT OR Apache-2.0
// Readers and writers who do little else than use one lock (SCL, section 5.5), nine parts of its time being meant for
// readers and one for writers. share_error is how far the share of the time in which a writer was inside was from that
// tenth, relative to it. Without --writers one thread writes and the others read.
#include <atomic>
#include <cmath>

#include "base/atomic.h"
#include "harness/busy_work.hpp"
#include "harness/workload_main.hpp"
#include "workloads/reader_writer_lock.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned readers_weight = 9, writers_weight = 1;
constexpr double section_us_default = 5;

// What the lock protects: two counts that a writer makes unequal for a moment.
struct alignas(HF_CACHE_LINE_BYTES) protected_counts {
    std::uint64_t first = 0;
    alignas(HF_CACHE_LINE_BYTES) std::uint64_t second = 0;
};

struct shared_scene {
    std::unique_ptr<reader_writer_lock> lock;
    std::uint64_t section_ticks;
    protected_counts counts;
    std::atomic<bool> violated = false;
};

struct reader {
    shared_scene &scene;

    void prepare(std::uint64_t) {}
    void operate() {
        scene.lock->read_lock();
        std::uint64_t first = hf_load_relaxed(&scene.counts.first);
        work_for(scene.section_ticks);
        if (first != hf_load_relaxed(&scene.counts.second))
            scene.violated = true;
        scene.lock->read_unlock();
    }
    void rest(std::uint64_t) {}
};

struct writer {
    shared_scene &scene;
    team_phase &phase;
    std::uint64_t &written_ticks;
    std::uint64_t held = 0;

    void prepare(std::uint64_t) {}
    void operate() {
        scene.lock->write_lock();
        std::uint64_t began = hf_ticks();
        hf_store_relaxed(&scene.counts.first, scene.counts.first + 1);
        work_for(scene.section_ticks);
        hf_store_relaxed(&scene.counts.second, scene.counts.second + 1);
        held = hf_ticks() - began;
        scene.lock->write_unlock();
    }
    void rest(std::uint64_t) {
        if (phase.now() == phase::measuring) // not how the last threads end, or begin
            written_ticks += held;
    }
};

team_result run(const workload_options &options) {
    double us = options.section_us < 0 ? section_us_default : options.section_us;
    shared_scene scene{make_reader_writer_lock(*options.lock, {readers_weight, writers_weight, options.slice_us}),
                       ticks_of_us(us),
                       {},
                       false};
    std::vector<std::uint64_t> written_ticks(options.writers * HF_CACHE_LINE_BYTES); // far from each other
    team_result result =
        run_team(options.threads, options.seconds, [&](unsigned number, team_phase &phase, thread_result &own) {
            if (number < options.writers) {
                writer self{scene, phase, written_ticks[number * HF_CACHE_LINE_BYTES]};
                repeat_until_stopped(phase, self, own);
            } else {
                reader self{scene};
                repeat_until_stopped(phase, self, own);
            }
        });
    if (scene.violated || scene.counts.first != scene.counts.second)
        throw exclusion_violated("a reader was inside together with a writer");
    double written = 0, due = double(writers_weight) / (readers_weight + writers_weight);
    for (std::uint64_t ticks : written_ticks)
        written += static_cast<double>(ticks) * hf_tick_ns() * 1e-9;
    if (options.threads > options.writers)
        result.share_error = std::abs(written / result.elapsed_s - due) / due;
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return workload_main(argc, argv, "scl-readers-writers", run, further_options::readers_and_writers);
}
