// SPDX-License-Identifier: MIT OR Apache-2.0
// How often something took how long: a histogram whose buckets need not follow one another.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::cli::top {

struct distribution {
    struct bucket {
        std::uint64_t from_ns;
        std::uint64_t below_ns;
        std::uint64_t count;
    };
    std::vector<bucket> buckets; // with counts above 0, in the order of from_ns

    std::uint64_t total() const;
    // At most this long did that share of them take: the end of a bucket. Empty when there are none.
    std::optional<std::uint64_t> quantile_ns(double share) const;
};

// What came after `before`. A bucket that has less than it had then has got nothing.
distribution since(const distribution &before, const distribution &now);

} // namespace holdfast::cli::top
