// SPDX-License-Identifier: MIT OR Apache-2.0
// What this machine, kernel and user offer that Holdfast can use.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

struct capability {
    std::string name;  // for machines: one word
    std::string title; // for people
    bool present;
    std::string detail;       // what was found
    std::string remedy;       // what to do to have it; empty when there is nothing to do
    bool for_monitor = false; // does the monitor need it?
    std::string log = {};     // what the kernel said, whole; mostly nothing
};

// All of them, found by asking the kernel; takes some milliseconds and changes nothing.
std::vector<capability> find_capabilities();

} // namespace holdfast::cli
