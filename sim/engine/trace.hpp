// SPDX-License-Identifier: MIT OR Apache-2.0
// What happens on each CPU, in virtual time, as a file that Perfetto and chrome://tracing show: "Trace Event Format".
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "engine/duration.hpp"

namespace holdfast::sim {

class trace {
public:
    // Throws std::runtime_error when the file can't be written.
    explicit trace(const std::string &path);
    ~trace();
    trace(const trace &) = delete;
    trace &operator=(const trace &) = delete;

    // A thread was on a CPU; and what it was about when it left it.
    void ran(int cpu, int thread, picoseconds from, picoseconds to, const char *left);
    // A thread waited for, or held, the lock.
    void span(int thread, const char *what, picoseconds from, picoseconds to);
    // The monitor's count, from then on.
    void critical_count(picoseconds at, std::uint64_t count);

private:
    void line(const std::string &text);
    std::ofstream file_;
    bool is_first_ = true;
};

} // namespace holdfast::sim
