// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/left_out.hpp"

#include <cstdlib>
#include <sstream>

namespace holdfast {

std::span<const monitor_part> monitor_parts() {
    static constexpr monitor_part parts[] = {
        {HF_PART_SWITCH_STATE, 0, "switch_state", "how a thread left, from the tracepoint",
         "the thread's own state tells it: a thread that is woken at that moment counts as preempted"},
        {HF_PART_HEART, 0, "heart", "a heart that beats in the kernel", "the monitor's process beats, when it gets to"},
        {HF_PART_COMPANY, 0, "company", "who else wants a CPU",
         "waiters spin on, even if other programs want their CPU"},
        {HF_PART_CENSUS, 0, "census", "a walk over all threads",
         "no audits of the count, and all programs listen to the whole machine's"},
        {HF_PART_ABSENCES, 0, "absences", "absences of lock holders",
         "'top' does not show which locks' holders were away"},
        {HF_PART_STACKS, HF_PART_ABSENCES, "stacks", "stacks of lock holders",
         "'top' does not show where holders were preempted"},
        {HF_PART_STORMS, 0, "storms", "a watch for storms of switches",
         "programs that switch all the time inside critical sections pay for being counted"},
    };
    return parts;
}

std::string names_of_parts(std::uint32_t bits) {
    std::string names;
    for (const monitor_part &each : monitor_parts()) {
        if (bits & each.bit)
            names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    return names;
}

std::uint32_t parts_refused_for_tests() {
    const char *set = std::getenv("HOLDFAST_REFUSED_PARTS");
    std::istringstream names(set ? set : "");
    std::uint32_t refused = 0;
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
        if (name == "core")
            refused |= HF_PART_CORE;
        for (const monitor_part &each : monitor_parts()) {
            if (name == each.name)
                refused |= each.bit;
        }
    }
    return refused;
}

} // namespace holdfast
