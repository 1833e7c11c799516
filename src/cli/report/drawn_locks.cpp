// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/drawn_locks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "cli/draw/plot.hpp"
#include "cli/experiment/lock_styles.hpp"
#include "measure/statistics.hpp"

namespace holdfast::cli::report {
namespace {

constexpr std::array always = {"glibc", "flexguard", "default", "blocking", "mcs", "ttas", "uscl"};

// Of all cells, the median of what each did to glibc's in the same round.
std::map<std::string, double> usual_ratios(const std::vector<workload_measurement> &workloads) {
    std::map<std::string, std::vector<double>> ratios;
    for (const auto &one : workloads) {
        for (const auto &record : one.records()) {
            const result_record *glibc = one.beside(record, "glibc");
            if (record.ops_per_s && glibc && glibc->ops_per_s.value_or(0) > 0)
                ratios[record.lock].push_back(*record.ops_per_s / *glibc->ops_per_s);
        }
    }
    std::map<std::string, double> usual;
    for (const auto &[lock, values] : ratios)
        usual[lock] = median(values).value_or(0);
    return usual;
}

template <class Measurements>
void note_locks(const Measurements &measurements, std::vector<std::string> &locks) {
    for (const auto &one : measurements) {
        for (const auto &lock : one.locks()) {
            if (std::find(locks.begin(), locks.end(), lock) == locks.end())
                locks.push_back(lock);
        }
    }
}

} // namespace

drawn_locks::drawn_locks(const std::vector<workload_measurement> &workloads,
                         const std::vector<program_measurement> &programs, std::vector<std::string> chosen) {
    if (!chosen.empty()) {
        names_ = std::move(chosen);
        styles_ = styles_of(names_);
        return;
    }
    std::vector<std::string> there;
    note_locks(workloads, there);
    note_locks(programs, there);
    auto usual = usual_ratios(workloads);
    auto rank = [&usual](const std::string &lock) {
        auto found = std::find(always.begin(), always.end(), lock);
        return std::pair(found - always.begin(), usual.contains(lock) ? -usual.at(lock) : 0.0);
    };
    std::stable_sort(there.begin(), there.end(), [&](const auto &a, const auto &b) { return rank(a) < rank(b); });
    there.resize(std::min(there.size(), plot_styles));
    names_ = there;
    styles_ = styles_of(names_);
}

std::vector<std::string> drawn_locks::among(const std::vector<std::string> &there) const {
    std::vector<std::string> shown;
    for (const auto &name : names_) {
        if (std::find(there.begin(), there.end(), name) != there.end())
            shown.push_back(name);
    }
    return shown;
}

std::optional<std::size_t> drawn_locks::style_of(const std::string &lock) const {
    auto found = std::find(names_.begin(), names_.end(), lock);
    if (found == names_.end())
        return std::nullopt;
    return styles_[static_cast<std::size_t>(found - names_.begin())];
}

} // namespace holdfast::cli::report
