// SPDX-License-Identifier: MIT OR Apache-2.0
// The parts of the Preemption Monitor that a kernel may refuse (monitor/bpf/monitor_parts.h), for people.
#pragma once

#include <cstdint>
#include <span>
#include <string>

extern "C" {
#include "monitor/bpf/monitor_parts.h"
}

namespace holdfast {

struct monitor_part {
    std::uint32_t bit;
    std::uint32_t needs; // another part, or 0
    const char *name;    // one word, for machines
    const char *title;
    const char *without; // what is different without it
};

// In the order of their worth, without the core.
std::span<const monitor_part> monitor_parts();

struct left_out_part {
    monitor_part part;
    std::string why;
    std::string log; // what the kernel said, whole
};

// Their names, one after the other; empty for none.
std::string names_of_parts(std::uint32_t bits);

// From HOLDFAST_REFUSED_PARTS, names with commas between: the running kernel is made to refuse these, and the core by
// the name "core".
std::uint32_t parts_refused_for_tests();

} // namespace holdfast
