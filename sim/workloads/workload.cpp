// SPDX-License-Identifier: MIT OR Apache-2.0
#include "workloads/workload.hpp"

#include <fmt/core.h>
#include <stdexcept>

#include "base/atomic.h"
#include "base/cpu.h"

namespace holdfast::sim {
namespace {

struct alignas(HF_CACHE_LINE_BYTES) shared_line {
    std::uint64_t count = 0;
};

// The time from a release to the next request, as bench/shared-memory spends it: by reading the tick counter.
void spin_for(std::uint64_t since_ns, double ns) {
    while (static_cast<double>(hf_ticks() - since_ns) < ns)
        continue;
}

// bench/shared-memory: both shared lines are read and written.
void shared_memory(simulation &on, measurement &figures, const workload_settings &settings) {
    constexpr double usual_between_ns = 40; // 100 ticks
    double between_ns = settings.between_ns < 0 ? usual_between_ns : settings.between_ns;
    void *lock = locks_at(1, settings.lock->bytes);
    auto *shared = static_cast<shared_line *>(locks_at(2, sizeof(shared_line)));
    int *inside = new int(0);
    for (unsigned i = 0; i < settings.threads; i++) {
        on.add_thread([=, &on, &figures](int number) {
            for (;;) {
                on.charge_ns(harness_ns);
                std::uint64_t asked = hf_ticks();
                settings.lock->lock(lock);
                std::uint64_t got = hf_ticks();
                if ((*inside)++ != 0)
                    on.stop("two threads were inside at once");
                on.self().is_inside = true;
                on.use_together(&shared[0].count, &shared[1].count);
                on.charge_ns(settings.section_ns);
                on.self().is_inside = false;
                --*inside;
                settings.lock->unlock(lock);
                std::uint64_t released = hf_ticks();
                figures.add(number, asked, got, released);
                spin_for(released, between_ns);
            }
        });
    }
}

} // namespace

void add_workload(simulation &to, measurement &figures, const workload_settings &settings) {
    if (settings.workload != "shared-memory")
        throw std::invalid_argument(fmt::format("no workload '{}' is simulated", settings.workload));
    shared_memory(to, figures, settings);
}

} // namespace holdfast::sim
