// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs a workload program for one cell, with its background load, and says how it went, whatever happened.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/common/interruption.hpp"
#include "cli/experiment/cell_result.hpp"
#include "cli/start/session.hpp"

namespace holdfast::cli {

struct cell {
    std::string lock;
    unsigned threads;
    unsigned round;
    std::optional<double> slice_us{};   // of the lock's slices; empty: it has none, or as it is
    std::optional<double> section_us{}; // of critical sections; empty: the workload's own

    std::string label() const;
};

class cell_runner {
public:
    struct settings {
        std::string workload;
        double seconds;
        unsigned background;
        std::optional<double> between_us;
        double patience_s; // that a cell may take beyond `seconds` until it counts as timed out
        std::map<std::string, environment> environments; // by lock
        std::vector<std::string> arguments;              // to the workload program besides its usual ones
    };

    // Throws failure when the programs are not there.
    cell_runner(settings chosen, const interruption &interrupted);

    // Empty when interrupted.
    std::optional<cell_result> run(const cell &one) const;

private:
    settings settings_;
    const interruption &interrupted_;
    std::string workload_path_;
};

} // namespace holdfast::cli
