// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast::bench {

void histogram::merge(const histogram &other) noexcept {
    for (std::size_t i = 0; i < bucket_count; i++)
        buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
}

double histogram::mean() const noexcept {
    return count_ ? static_cast<double>(sum_) / static_cast<double>(count_) : 0;
}

std::uint64_t histogram::middle_of(std::size_t bucket) noexcept {
    if (bucket < 2 * parts)
        return bucket;
    unsigned shift = static_cast<unsigned>(bucket / parts) - 1;
    std::uint64_t first = (parts + bucket % parts) << shift;
    return first + (std::uint64_t{1} << shift) / 2;
}

std::uint64_t histogram::quantile(double share) const noexcept {
    if (count_ == 0)
        return 0;
    double wanted = std::clamp(share, 0.0, 1.0) * static_cast<double>(count_);
    std::uint64_t rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(wanted)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < bucket_count; i++) {
        seen += buckets_[i];
        if (seen >= rank)
            return std::min(middle_of(i), max_);
    }
    return max_;
}

} // namespace holdfast::bench
