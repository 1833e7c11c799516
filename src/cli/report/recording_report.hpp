// SPDX-License-Identifier: MIT OR Apache-2.0
// What 'holdfast report' makes of a recording.
#pragma once

#include <string>

namespace holdfast::cli::report {

// Where what goes; empty: nowhere.
struct recording_files {
    std::string flame_graph, folded, perfetto, speedscope, pprof;
    bool some() const;
};

// By its first bytes. False also for what can't be read.
bool is_recording(const std::string &path);

// Prints a summary and writes the files. Throws usage_error.
int report_recording(const std::string &path, const recording_files &files);

} // namespace holdfast::cli::report
