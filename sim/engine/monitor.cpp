// SPDX-License-Identifier: MIT OR Apache-2.0
// The Preemption Monitor: what at_switch of src/monitor/bpf/preemption_monitor.bpf.c does, for one group of processes
// that reads the machine's scope. Whether a thread is critical, and when a storm begins and ends, is decided by the
// headers that the BPF program has as well.
#include "engine/simulation.hpp"
#include "hint/hint.h"
#include "thread/thread_record.h"

namespace holdfast::sim {
namespace {

alignas(4096) hf_hint_page page;

constexpr std::uint32_t own_group = HF_GROUP_OF_ALL;

} // namespace

void simulation::set_up_page() {
    page = {};
    page.version = HF_HINT_VERSION;
    page.monitor_state = HF_MONITOR_ALIVE;
    page.heartbeat_ns = clock_begin_ns;
    hf_hint_listen_to(&page);
}

void simulation::without_monitor() {
    has_monitor_ = false;
    hf_hint_listen_to(nullptr);
}

void simulation::beat(picoseconds at) {
    page.heartbeat_ns = clock_begin_ns + at / ps_a_ns / HF_HEARTBEAT_NS * HF_HEARTBEAT_NS;
}

std::uint64_t simulation::critical_count() const {
    return page.scope[HF_SCOPE_MACHINE].preempted_critical_sections;
}

// Returns when the switch goes on: what the monitor writes takes the page's lines from those that poll them.
picoseconds simulation::at_switch(cpu &on, thread *leaves, bool could_go_on, thread *comes, picoseconds at) {
    if (!has_monitor_)
        return at;
    beat(at);
    std::uint64_t *count = &page.scope[HF_SCOPE_MACHINE].preempted_critical_sections;
    std::uint64_t *left_alone = &page.group[own_group].left_alone_until_ns;
    bool is_seen = leaves && !leaves->is_stranger && leaves->state != thread_state::done;
    bool is_critical =
        is_seen && !hf_storm_goes_on(left_alone, page.heartbeat_ns) && hf_is_critical(&leaves->record->critical);
    if (exploring_ && is_seen && leaves->is_inside && !is_critical && *left_alone == 0)
        why_ = "the holder of a lock left its CPU and was not critical";
    if (exploring_ && why_.empty())
        why_ = what_does_not_hold();
    if (is_critical && !leaves->is_counted) {
        at = own_from_kernel(on, count, at);
        bool in_company = *count != 0;
        ++*count;
        leaves->is_counted = true;
        (could_go_on ? counts_.critical_preemptions : counts_.critical_sleeps)++;
        bool is_sampled = ++on.critical_departures % HF_STORM_SAMPLED == 0;
        if (is_sampled && in_company &&
            hf_storm_begins(&storm_, page.heartbeat_ns, static_cast<std::uint32_t>(cpus_.size())) && *left_alone == 0) {
            *left_alone = page.heartbeat_ns + HF_STORM_NS;
            counts_.storms++;
        }
    } else if (!is_critical && leaves && leaves->is_counted) {
        at = own_from_kernel(on, count, at);
        --*count;
        leaves->is_counted = false;
    }
    if (comes && comes->is_counted) {
        at = own_from_kernel(on, count, at);
        --*count;
        comes->is_counted = false;
    }
    if (trace_)
        trace_->critical_count(at, *count);
    if (comes && !comes->is_stranger) {
        hf_hint_cpu &own = page.cpu[on.number];
        auto runnable = static_cast<std::uint32_t>(on.queue.size()) + 1;
        if (own.runnable != runnable) {
            at = own_from_kernel(on, &own, at);
            own.runnable = runnable;
        }
        if (leaves && could_go_on && leaves->is_stranger)
            own.shared_ns = clock_begin_ns + at / ps_a_ns;
    }
    return at;
}

} // namespace holdfast::sim
