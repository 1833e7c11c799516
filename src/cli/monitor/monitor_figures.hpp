// SPDX-License-Identifier: MIT OR Apache-2.0
// What a service tells of itself (struct hf_monitor_status), by the names that people, JSON and Prometheus know it by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hint/registration.h"

namespace holdfast::cli {

struct monitor_figure {
    const char *name;   // in JSON
    const char *metric; // in Prometheus; what ends in _total only counts up
    const char *title;
    std::uint64_t hf_monitor_status::*value;
};

std::span<const monitor_figure> monitor_figures();

// The same for each scope (struct hf_scope_status).
struct scope_figure {
    const char *name;
    const char *metric;
    const char *title;
    std::uint64_t hf_scope_status::*value;
};

std::span<const scope_figure> scope_figures();

// Is there anything to tell of this one? Of the machine's, always.
bool is_worth_telling(const hf_scope_status &scope, std::size_t number);

} // namespace holdfast::cli
