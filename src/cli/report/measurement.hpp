// SPDX-License-Identifier: MIT OR Apache-2.0
// What a results file holds, ready to be summed up: of `bench` cells of one workload, of `compare` runs of one program.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cli/experiment/program_run.hpp"
#include "cli/experiment/results_file.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli::report {

// The rounds of one cell, as one figure: medians over those that went well, and the ends of what they spread over.
struct cell_figure {
    unsigned rounds = 0;
    unsigned rounds_ok = 0;
    std::string trouble; // the first status that is not ok
    std::optional<double> median;
    double low = 0;
    double high = 0;

    // The median as text with '*' when some rounds went wrong; what became of it when all did; "-" when it was not
    // measured.
    std::string text(const std::function<std::string(double)> &format) const;
};

class workload_measurement {
public:
    // Throws nlohmann::json::exception when these are not records of a workload.
    explicit workload_measurement(const results &file);
    workload_measurement(workload_measurement &&) = default; // records stay where they are

    const json &about() const { return about_; }
    const std::string &workload() const { return records_.front().workload; }
    unsigned background() const { return records_.front().background; }
    std::optional<double> between_us() const { return records_.front().between_us; }
    unsigned cpus() const;
    // In the order in which they were measured first; without any in which they grow.
    const std::vector<std::string> &locks() const { return locks_; }
    const std::vector<unsigned> &threads() const { return threads_; }
    const std::vector<result_record> &records() const { return records_; }
    unsigned rounds() const { return rounds_; }
    double cell_s() const; // how long a measurement usually was; 0: not known
    bool has_lock(const std::string &lock) const;
    std::size_t not_ok() const;

    // Empty when not measured.
    using statistic = std::function<std::optional<double>(const result_record &)>;
    cell_figure figure(const std::string &lock, unsigned threads, const statistic &of) const;
    // The record of another lock in the same round, if that went well.
    const result_record *beside(const result_record &record, const std::string &lock) const;
    std::vector<const result_record *> cell(const std::string &lock, unsigned threads) const;

private:
    using place = std::tuple<std::string, unsigned, unsigned>; // lock, threads, round

    json about_;
    std::vector<result_record> records_;
    std::vector<std::string> locks_;
    std::vector<unsigned> threads_;
    unsigned rounds_ = 0;
    std::map<place, const result_record *> by_place_;
};

class program_measurement {
public:
    // Throws nlohmann::json::exception when these are not runs of a program.
    explicit program_measurement(const results &file);

    const json &about() const { return about_; }
    std::string name() const; // the program without its directories, and its arguments
    std::string short_name() const;
    std::string figure_name() const; // the program, and what of its output is compared
    unsigned background() const;
    unsigned cpus() const;
    const std::vector<std::string> &locks() const { return locks_; }
    const std::vector<unsigned> &threads() const { return threads_; } // one of 0 when it was not told any
    const std::vector<program_run> &runs() const { return runs_; }
    std::size_t not_ok() const;

    // Above 1: better than glibc in the same round.
    cell_figure ratio_to_glibc(const std::string &lock, unsigned threads) const;
    cell_figure value(const std::string &lock, unsigned threads) const;
    const yardstick &by() const { return by_; }

private:
    std::vector<const program_run *> cell(const std::string &lock, unsigned threads) const;

    json about_;
    std::vector<program_run> runs_;
    std::vector<std::string> locks_;
    std::vector<unsigned> threads_;
    yardstick by_{};
};

} // namespace holdfast::cli::report
