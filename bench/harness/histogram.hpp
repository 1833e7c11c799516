// SPDX-License-Identifier: MIT OR Apache-2.0
// Counts of durations in log-linear buckets: every power of two is cut into 32 equal parts, so that any value is known
// to within 1/64 of itself, in constant time and memory. Count, sum and maximum are exact.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

class histogram {
public:
    void add(std::uint64_t value) noexcept {
        buckets_[bucket_of(value)]++;
        count_++;
        sum_ += value;
        if (value > max_)
            max_ = value;
    }

    void merge(const histogram &other) noexcept;

    std::uint64_t count() const noexcept { return count_; }
    std::uint64_t max() const noexcept { return max_; }
    // 0 when empty.
    double mean() const noexcept;
    // The smallest value that at least `share` (0 to 1) of all values do not exceed, as the middle of its bucket. 0
    // when empty.
    std::uint64_t quantile(double share) const noexcept;

    // Calls visit(value, count) for the middle of each bucket that has any, by growing value.
    template <class Visitor>
    void visit_buckets(const Visitor &visit) const {
        for (std::size_t i = 0; i < bucket_count; i++) {
            if (buckets_[i] > 0)
                visit(middle_of(i), buckets_[i]);
        }
    }

private:
    static constexpr unsigned part_bits = 5;
    static constexpr std::size_t parts = std::size_t{1} << part_bits;
    static constexpr std::size_t bucket_count = (64 - part_bits + 1) * parts;

    // Values below 2 * parts have a bucket each. Above, the highest bit picks the power of two and the part_bits after
    // it the part; the numbering goes on without a gap.
    static std::size_t bucket_of(std::uint64_t value) noexcept {
        if (value < 2 * parts)
            return value;
        unsigned shift = static_cast<unsigned>(std::bit_width(value)) - part_bits - 1;
        return shift * parts + (value >> shift);
    }
    static std::uint64_t middle_of(std::size_t bucket) noexcept;

    std::array<std::uint64_t, bucket_count> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t max_ = 0;
};

} // namespace holdfast::bench
