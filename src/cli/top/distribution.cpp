// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/distribution.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast::cli::top {
namespace {

std::uint64_t count_from(const distribution &all, std::uint64_t from_ns) {
    auto found = std::ranges::lower_bound(all.buckets, from_ns, {}, &distribution::bucket::from_ns);
    return found != all.buckets.end() && found->from_ns == from_ns ? found->count : 0;
}

} // namespace

std::uint64_t distribution::total() const {
    std::uint64_t sum = 0;
    for (const bucket &each : buckets)
        sum += each.count;
    return sum;
}

std::optional<std::uint64_t> distribution::quantile_ns(double share) const {
    auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total())));
    std::uint64_t sum = 0;
    for (const bucket &each : buckets) {
        sum += each.count;
        if (sum >= wanted)
            return each.below_ns;
    }
    return std::nullopt;
}

distribution since(const distribution &before, const distribution &now) {
    distribution difference;
    for (const auto &each : now.buckets) {
        std::uint64_t old = count_from(before, each.from_ns);
        if (each.count > old)
            difference.buckets.push_back(
                {.from_ns = each.from_ns, .below_ns = each.below_ns, .count = each.count - old});
    }
    return difference;
}

} // namespace holdfast::cli::top
