// SPDX-License-Identifier: MIT OR Apache-2.0
// All chance comes from here, and from a seed: splitmix64 (Steele, Lea, Flood, OOPSLA '14).
#pragma once

#include <cstdint>

namespace holdfast::sim {

class random_source {
public:
    explicit random_source(std::uint64_t seed) : state_(seed * 0x2545f4914f6cdd1du + 0x9e3779b97f4a7c15u) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    // 0 to below - 1; 0 when that is 0.
    std::uint64_t below(std::uint64_t limit) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * limit) >> 64);
    }

    bool one_in(std::uint64_t many) { return below(many) == 0; }

private:
    std::uint64_t state_;
};

} // namespace holdfast::sim
