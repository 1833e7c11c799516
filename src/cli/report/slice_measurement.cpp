// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/slice_measurement.hpp"

#include <algorithm>

#include "cli/report/file_content.hpp"
#include "measure/workload.hpp"

namespace holdfast::cli::report {

bool slice_measurement::is_in(const results &file) {
    if (file.records.empty())
        return false;
    const json &first = file.records.front();
    return first.is_object() && first.contains("workload") && first.at("workload").is_string() &&
           takes_lengths(first.at("workload").get<std::string>());
}

slice_measurement::slice_measurement(const results &file) : about_(file.about), records_(records_in(file)) {
    check_about(about_);
    for (const auto &one : records_) {
        if (one.workload != workload() || one.background != background() || !one.section_us)
            refuse("records of more than one workload");
        note_once(grid_.contenders, {one.lock, one.slice_us});
        note_once(grid_.sections_us, *one.section_us);
        note_once(grid_.threads, one.threads);
    }
    std::sort(grid_.threads.begin(), grid_.threads.end());
}

std::size_t slice_measurement::not_ok() const {
    return not_ok_among(records_);
}

} // namespace holdfast::cli::report
