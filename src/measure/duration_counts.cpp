// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/duration_counts.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr double bounds_per_power = 4;
constexpr std::size_t bounds_max = 256;

std::size_t bound_below(double ns) {
    if (!(ns > 1))
        return 0;
    return std::min(static_cast<std::size_t>(bounds_per_power * std::log2(ns)), bounds_max - 1);
}

double bound(std::size_t number) {
    return std::exp2(static_cast<double>(number) / bounds_per_power);
}

} // namespace

void duration_counts::add(double ns, std::uint64_t count) {
    if (count == 0)
        return;
    std::size_t place = bound_below(ns);
    if (counts_.empty())
        first_ = place;
    if (place < first_) {
        counts_.insert(counts_.begin(), first_ - place, 0);
        first_ = place;
    }
    if (place - first_ >= counts_.size())
        counts_.resize(place - first_ + 1);
    counts_[place - first_] += count;
}

void duration_counts::merge(const duration_counts &other) {
    for (std::size_t i = 0; i < other.counts_.size(); i++)
        add(bound(other.first_ + i) * std::exp2(0.5 / bounds_per_power), other.counts_[i]);
}

std::vector<duration_counts::point> duration_counts::shares() const {
    double total = 0, seen = 0;
    for (std::uint64_t count : counts_)
        total += static_cast<double>(count);
    std::vector<point> points;
    for (std::size_t i = 0; i < counts_.size(); i++) {
        seen += static_cast<double>(counts_[i]);
        points.push_back({bound(first_ + i + 1), i + 1 == counts_.size() ? 1 : seen / total});
    }
    return points;
}

void to_json(json &target, const duration_counts &durations) {
    target = json{{"first", durations.first_}, {"counts", durations.counts_}};
}

void from_json(const json &source, duration_counts &durations) {
    auto first = source.at("first").get<std::size_t>();
    const auto &counts = source.at("counts");
    if (!counts.is_array() || first >= bounds_max || counts.size() > bounds_max - first)
        throw json::other_error::create(501, "counts of durations beyond the last bound", nullptr);
    durations = {};
    for (std::size_t i = 0; i < counts.size(); i++)
        durations.add(bound(first + i) * std::exp2(0.5 / bounds_per_power), counts[i].get<std::uint64_t>());
}

} // namespace holdfast::cli
