// SPDX-License-Identifier: MIT OR Apache-2.0
// Which locks the pictures show, and how each looks in all of them: more than eight lines can't be told apart. Tables
// have all locks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/report/measurement.hpp"

namespace holdfast::cli::report {

class drawn_locks {
public:
    // Ours and what they are compared with first, then those that were fastest. `chosen` replaces that when it is not
    // empty.
    drawn_locks(const std::vector<workload_measurement> &workloads, const std::vector<program_measurement> &programs,
                std::vector<std::string> chosen);

    const std::vector<std::string> &names() const { return names_; }
    // Those of `there` that are shown, in the order of names().
    std::vector<std::string> among(const std::vector<std::string> &there) const;
    std::optional<std::size_t> style_of(const std::string &lock) const;

private:
    std::vector<std::string> names_;
    std::vector<std::size_t> styles_; // of each
};

} // namespace holdfast::cli::report
