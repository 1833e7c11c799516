// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor/monitor_figures.hpp"

#include <algorithm>

namespace holdfast::cli {

std::span<const monitor_figure> monitor_figures() {
    using status = hf_monitor_status;
    static constexpr monitor_figure figures[] = {
        {"preempted_critical_sections", "holdfast_preempted_critical_sections", "critical sections preempted now",
         &status::preempted_critical_sections},
        {"preemptions_total", "holdfast_preemptions_total", "critical sections preempted", &status::preemptions_total},
        {"sleeps_total", "holdfast_sleeps_total", "critical sections that slept", &status::sleeps_total},
        {"uncounted_total", "holdfast_uncounted_total", "not counted, for want of memory", &status::uncounted_total},
        {"unreadable_total", "holdfast_unreadable_total", "threads that could not be looked at",
         &status::unreadable_total},
        {"unseen_switches_total", "holdfast_unseen_switches_total", "switches hidden by the kernel",
         &status::unseen_switches_total},
        {"switch_storms_total", "holdfast_switch_storms_total", "seconds in which a program was not looked at",
         &status::switch_storms_total},
        {"audits_total", "holdfast_audits_total", "audits of the count", &status::audits_total},
        {"repairs", "holdfast_repairs_total", "repairs of the count", &status::repairs_total},
        {"registered_processes", "holdfast_registered_processes", "registered processes",
         &status::registered_processes},
        {"registrations_total", "holdfast_registrations_total", "registrations", &status::registrations_total},
        {"refusals_total", "holdfast_refusals_total", "requests refused", &status::refusals_total},
    };
    return figures;
}

std::span<const scope_figure> scope_figures() {
    using status = hf_scope_status;
    static constexpr scope_figure figures[] = {
        {"registered_processes", "holdfast_scope_registered_processes", "registered processes that ask this count",
         &status::registered_processes},
        {"preempted_critical_sections", "holdfast_scope_preempted_critical_sections",
         "critical sections preempted now, by scope", &status::preempted_critical_sections},
        {"preemptions_total", "holdfast_scope_preemptions_total", "critical sections preempted, by scope",
         &status::preemptions_total},
        {"sleeps_total", "holdfast_scope_sleeps_total", "critical sections that slept, by scope",
         &status::sleeps_total},
    };
    return figures;
}

bool is_worth_telling(const hf_scope_status &scope, std::size_t number) {
    return number == HF_SCOPE_MACHINE ||
           std::ranges::any_of(scope_figures(), [&](const scope_figure &each) { return scope.*each.value != 0; });
}

} // namespace holdfast::cli
