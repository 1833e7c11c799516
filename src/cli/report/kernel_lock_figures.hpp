// SPDX-License-Identifier: MIT OR Apache-2.0
// A results file of ./dev bench rename or rtnl: two threads that want one lock of the kernel's, once its mutex and once
// k-SCL (Figures 13 and 14 of the scheduler-cooperative locks' paper).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/experiment/results_file.hpp"
#include "cli/report/figure.hpp"

namespace holdfast::cli::report {

class kernel_lock_measurement {
public:
    static bool is_in(const results &file);

    // Throws nlohmann::json::exception when these are not records of one such experiment.
    explicit kernel_lock_measurement(const results &file);

    std::string experiment() const { return about_.at("experiment").get<std::string>(); }
    const json &about() const { return about_; }

    struct row {
        std::string lock, thread;
        double calls, has, is_kept_from;  // the last two: parts of the thread's time
        std::vector<double> quantiles_ns; // of its calls, evenly from the shortest to the longest
    };
    const std::vector<row> &rows() const { return rows_; }

private:
    json about_;
    std::vector<row> rows_;
};

// How long calls take, as a picture and a table, and a table of what each thread has of the lock. `name` begins the
// names of its figures.
section kernel_lock_section(const kernel_lock_measurement &of, const std::string &name);

} // namespace holdfast::cli::report
