// SPDX-License-Identifier: MIT OR Apache-2.0
// What a service tells of itself (struct hf_monitor_status), by the names that people, JSON and Prometheus know it by.
#pragma once

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

} // namespace holdfast::cli
