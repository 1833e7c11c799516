// SPDX-License-Identifier: MIT OR Apache-2.0
#include "engine/trace.hpp"

#include <fmt/core.h>
#include <stdexcept>

namespace holdfast::sim {
namespace {

enum { process_of_cpus = 1, process_of_threads = 2 };

double us(picoseconds time) {
    return static_cast<double>(time) / (1000.0 * ps_a_ns);
}

} // namespace

trace::trace(const std::string &path) : file_(path) {
    if (!file_)
        throw std::runtime_error(fmt::format("can't write the trace to '{}'", path));
    file_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    line(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"CPUs"}}}})", int(process_of_cpus)));
    line(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"threads"}}}})",
                     int(process_of_threads)));
}

trace::~trace() {
    file_ << "\n]}\n";
}

void trace::line(const std::string &text) {
    file_ << (is_first_ ? "" : ",\n") << text;
    is_first_ = false;
}

void trace::ran(int cpu, int thread, picoseconds from, picoseconds to, const char *left) {
    line(fmt::format(
        R"({{"ph":"X","name":"thread {}","pid":{},"tid":{},"ts":{:.4f},"dur":{:.4f},"args":{{"left":"{}"}}}})", thread,
        int(process_of_cpus), cpu, us(from), us(to - from), left));
}

void trace::span(int thread, const char *what, picoseconds from, picoseconds to) {
    line(fmt::format(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{:.4f},"dur":{:.4f}}})", what,
                     int(process_of_threads), thread, us(from), us(to - from)));
}

void trace::critical_count(picoseconds at, std::uint64_t count) {
    line(fmt::format(R"({{"ph":"C","name":"preempted critical sections","pid":{},"ts":{:.4f},"args":{{"count":{}}}}})",
                     int(process_of_cpus), us(at), count));
}

} // namespace holdfast::sim
