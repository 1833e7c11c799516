// SPDX-License-Identifier: MIT OR Apache-2.0
// What a program does not do itself, and must live with: interrupts of devices, a hypervisor that gives the physical
// CPU to another guest, a quota of CPU time.
#include <algorithm>
#include <cmath>

#include "engine/simulation.hpp"

namespace holdfast::sim {
namespace {

picoseconds ps(double ns) {
    return static_cast<picoseconds>(ns * ps_a_ns);
}

// The kernel looks as often as CPUs come for another share of the quota: /proc/sys/kernel/sched_cfs_bandwidth_slice_us.
constexpr picoseconds quota_slice = 5'000'000 * ps_a_ns;
constexpr picoseconds quota_looks_at_least = 100'000 * ps_a_ns;

} // namespace

void simulation::begin_disturbances() {
    for (auto &one : cpus_) {
        if (machine_.stolen_every_ns > 0)
            add_event({chance_.below(ps(2 * machine_.stolen_every_ns)), 0, event_kind::stolen, one.number, nullptr, 0});
        if (machine_.interrupts_every_ns > 0)
            add_event({chance_.below(ps(2 * machine_.interrupts_every_ns)), 0, event_kind::interrupted, one.number,
                       nullptr, 0});
    }
    if (machine_.quota_ns > 0)
        add_event({quota_looks_at_least, 0, event_kind::quota, 0, nullptr, 0});
}

// Neither the scheduler nor the monitor notices: the thread has the CPU, and does not get on.
void simulation::take_time(cpu &from, picoseconds at, double every_ns, double ns, event_kind kind) {
    add_event({at + 1 + chance_.below(ps(2 * every_ns)), 0, kind, from.number, nullptr, 0});
    if (!from.current)
        return;
    counts_.disturbances++;
    if (from.is_polling)
        stop_polling(from, at, true);
    from.now = std::max(from.now, at) + jittered(ns);
}

picoseconds simulation::used_by_all(picoseconds at) const {
    picoseconds used = 0;
    for (const auto &one : cpus_) {
        used += one.used_by_own;
        if (one.current && !one.current->is_stranger && at > one.started)
            used += at - one.started;
    }
    return used;
}

// Threads leave their CPUs when the quota is used up, wherever they are, and come back when the next period begins.
void simulation::watch_quota(picoseconds at) {
    picoseconds used = used_by_all(at), period = ps(machine_.quota_period_ns), quota = ps(machine_.quota_ns);
    if (at >= quota_from_ + period) {
        quota_from_ += (at - quota_from_) / period * period;
        used_before_ = used;
        if (is_throttled_) {
            is_throttled_ = false;
            for (auto &one : cpus_)
                reschedule(one, at);
        }
    }
    picoseconds left = quota - std::min(quota, used - used_before_), ends = quota_from_ + period;
    if (!is_throttled_ && left == 0) {
        is_throttled_ = true;
        counts_.throttled++;
        for (auto &one : cpus_)
            reschedule(one, at);
    }
    picoseconds soon = std::clamp(left / cpus_.size(), quota_looks_at_least, quota_slice);
    add_event({is_throttled_ ? ends : std::min(at + soon, ends), 0, event_kind::quota, 0, nullptr, 0});
}

} // namespace holdfast::sim
