// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/measurement.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/experiment/cell_summary.hpp"
#include "cli/experiment/slice_grid.hpp"
#include "cli/report/file_content.hpp"
#include "measure/statistics.hpp"
#include "measure/workload.hpp"

namespace holdfast::cli::report {
namespace {

void put_values(const std::vector<double> &values, cell_figure &figure) {
    figure.median = median(values);
    if (values.empty())
        return;
    figure.low = *std::min_element(values.begin(), values.end());
    figure.high = *std::max_element(values.begin(), values.end());
}

} // namespace

std::string cell_figure::text(const std::function<std::string(double)> &format) const {
    if (rounds == 0)
        return "";
    if (rounds_ok == 0)
        return trouble;
    if (!median)
        return "-";
    return format(*median) + (rounds_ok < rounds ? "*" : "");
}

workload_measurement::workload_measurement(const results &file) : about_(file.about), records_(records_in(file)) {
    check_about(about_);
    if (takes_slices(workload()))
        records_ = named_by_contender(std::move(records_));
    for (const auto &one : records_) {
        if (one.workload != workload() || one.background != background() || one.between_us != between_us() ||
            one.slice_us != records_.front().slice_us || one.section_us != records_.front().section_us)
            refuse("records of more than one workload");
        note_once(locks_, one.lock);
        note_once(threads_, one.threads);
        by_place_[{one.lock, one.threads, one.round}] = &one;
    }
    rounds_ = rounds_in(records_);
    std::sort(threads_.begin(), threads_.end());
}

unsigned workload_measurement::cpus() const {
    return cpus_in(about_);
}

double workload_measurement::cell_s() const {
    std::vector<double> lengths;
    for (const auto &one : records_) {
        if (one.measured_s)
            lengths.push_back(*one.measured_s);
    }
    return median(lengths).value_or(0);
}

bool workload_measurement::has_lock(const std::string &lock) const {
    return std::find(locks_.begin(), locks_.end(), lock) != locks_.end();
}

std::size_t workload_measurement::not_ok() const {
    return not_ok_among(records_);
}

std::vector<const result_record *> workload_measurement::cell(const std::string &lock, unsigned threads) const {
    std::vector<const result_record *> rounds;
    auto end = by_place_.end();
    for (auto at = by_place_.lower_bound({lock, threads, 0}); at != end; ++at) {
        if (at->second->lock != lock || at->second->threads != threads)
            break;
        rounds.push_back(at->second);
    }
    return rounds;
}

cell_figure workload_measurement::figure(const std::string &lock, unsigned threads, const statistic &of) const {
    cell_figure sum;
    std::vector<double> values;
    for (const result_record *one : cell(lock, threads)) {
        sum.rounds++;
        if (one->status != cell_status::ok) {
            if (sum.trouble.empty())
                sum.trouble = name_of(one->status);
            continue;
        }
        sum.rounds_ok++;
        if (auto value = of(*one))
            values.push_back(*value);
    }
    put_values(values, sum);
    return sum;
}

const result_record *workload_measurement::beside(const result_record &record, const std::string &lock) const {
    auto found = by_place_.find({lock, record.threads, record.round});
    if (found == by_place_.end() || found->second->status != cell_status::ok)
        return nullptr;
    return found->second;
}

program_measurement::program_measurement(const results &file) : about_(file.about) {
    check_about(about_);
    for (const auto &record : file.records)
        runs_.push_back(record.get<program_run>());
    if (runs_.empty())
        refuse("no records");
    if (!about_.at("program").is_array() || about_.at("program").empty())
        refuse("no program");
    for (const auto &word : about_.at("program")) {
        if (!word.is_string())
            refuse("a program's argument is not text");
    }
    by_.by_metric = about_.at("metric") != "wall_s";
    if (by_.by_metric)
        by_.metric_name = name_of_metric(about_.at("metric").get<std::string>());
    by_.higher_is_better = about_.at("better") == "higher";
    for (const auto &one : runs_) {
        note_once(locks_, one.lock);
        note_once(threads_, one.threads);
    }
    std::sort(threads_.begin(), threads_.end());
}

std::string program_measurement::short_name() const {
    return std::filesystem::path(about_.at("program").at(0).get<std::string>()).filename().string();
}

std::string program_measurement::figure_name() const {
    return short_name() + (by_.by_metric ? ": " + by_.metric_name : "");
}

std::string program_measurement::name() const {
    std::string text = short_name();
    for (std::size_t i = 1; i < about_.at("program").size(); i++)
        text += " " + about_.at("program").at(i).get<std::string>();
    return text;
}

unsigned program_measurement::background() const {
    return about_.contains("background") ? count_in(about_, "background", 0) : 0;
}

unsigned program_measurement::cpus() const {
    return cpus_in(about_);
}

std::size_t program_measurement::not_ok() const {
    return static_cast<std::size_t>(
        std::count_if(runs_.begin(), runs_.end(), [](const auto &one) { return one.status != run_status::ok; }));
}

std::vector<const program_run *> program_measurement::cell(const std::string &lock, unsigned threads) const {
    std::vector<const program_run *> rounds;
    for (const auto &one : runs_) {
        if (one.lock == lock && one.threads == threads)
            rounds.push_back(&one);
    }
    return rounds;
}

cell_figure program_measurement::value(const std::string &lock, unsigned threads) const {
    cell_figure sum;
    std::vector<double> values;
    for (const program_run *one : cell(lock, threads)) {
        sum.rounds++;
        if (one->status != run_status::ok && sum.trouble.empty())
            sum.trouble = name_of(one->status);
        sum.rounds_ok += one->status == run_status::ok;
        if (auto value = by_.value(*one))
            values.push_back(*value);
    }
    put_values(values, sum);
    return sum;
}

cell_figure program_measurement::ratio_to_glibc(const std::string &lock, unsigned threads) const {
    cell_figure sum = value(lock, threads);
    sum.median.reset();
    put_values(ratios_to_glibc(with_threads(runs_, threads), lock, by_), sum);
    return sum;
}

} // namespace holdfast::cli::report
