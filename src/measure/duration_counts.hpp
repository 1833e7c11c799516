// SPDX-License-Identifier: MIT OR Apache-2.0
// How many durations fell between which bounds, as results files keep it: four bounds for each power of two, so that a
// distribution over ten orders of magnitude fits a line. Bounds are the same for every run, so that runs can be added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace holdfast::cli {

class duration_counts {
public:
    // Above the last bound (2^64 ns) durations count as the longest, below 1 ns as the shortest.
    void add(double ns, std::uint64_t count);
    void merge(const duration_counts &other);

    bool empty() const { return counts_.empty(); }

    struct point {
        double ns;
        double share; // of all durations, that are shorter
    };
    // By growing time; the last one's share is 1. Nothing when empty.
    std::vector<point> shares() const;

private:
    friend void to_json(nlohmann::ordered_json &target, const duration_counts &durations);
    friend void from_json(const nlohmann::ordered_json &source, duration_counts &durations);

    // counts_[i] are from 2^((first_ + i) / 4) ns on, and below the next such bound. The first and last are not 0.
    std::size_t first_ = 0;
    std::vector<std::uint64_t> counts_;
};

// {"first": number of the lowest bound, "counts": [...]}.
void to_json(nlohmann::ordered_json &target, const duration_counts &durations);
// Throws nlohmann::json::exception when it is no such thing.
void from_json(const nlohmann::ordered_json &source, duration_counts &durations);

} // namespace holdfast::cli
