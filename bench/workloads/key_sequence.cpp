// SPDX-License-Identifier: MIT OR Apache-2.0
#include "workloads/key_sequence.hpp"

#include <bit>
#include <cmath>
#include <random>

namespace holdfast::bench {

zipf_ranks::zipf_ranks(std::uint32_t keys, double exponent, std::uint32_t length)
    : keys_(keys), ranks_(std::bit_ceil(length)) {
    std::vector<double> weights(keys);
    for (std::uint32_t rank = 0; rank < keys; rank++)
        weights[rank] = std::pow(rank + 1.0, -exponent);
    std::discrete_distribution<std::uint32_t> zipf(weights.begin(), weights.end());
    std::mt19937_64 random(1); // every run asks for the same keys
    for (auto &rank : ranks_)
        rank = zipf(random);
}

} // namespace holdfast::bench
