// SPDX-License-Identifier: MIT OR Apache-2.0
// Which keys the threads ask for: Zipf-distributed, with a hot range that moves through the key space as time goes by.
#pragma once

#include <cstdint>
#include <vector>

namespace holdfast::bench {

// Ranks drawn once, before the measurement, because drawing from a Zipf distribution costs more than what is measured.
// Rank 0 is the hottest. Shared by all threads, read only.
class zipf_ranks {
public:
    zipf_ranks(std::uint32_t keys, double exponent, std::uint32_t length);
    std::uint32_t operator[](std::uint64_t position) const noexcept { return ranks_[position & (ranks_.size() - 1)]; }
    std::uint32_t keys() const noexcept { return keys_; }

private:
    std::uint32_t keys_;
    std::vector<std::uint32_t> ranks_; // a power of two
};

// One thread's walk through them.
class key_sequence {
public:
    key_sequence(const zipf_ranks &ranks, unsigned thread, std::uint64_t began_ticks, std::uint64_t period_ticks)
        : ranks_(ranks), position_(thread * thread_distance), began_ticks_(began_ticks), period_ticks_(period_ticks) {}

    std::uint32_t next(std::uint64_t now_ticks) noexcept {
        // Threads agree on the hot range without telling each other: they share the clock.
        std::uint64_t periods = now_ticks > began_ticks_ ? (now_ticks - began_ticks_) / period_ticks_ : 0;
        return static_cast<std::uint32_t>((ranks_[position_++] + periods * shift_keys) % ranks_.keys());
    }

private:
    static constexpr std::uint64_t thread_distance = 7919; // threads start far from one another
    static constexpr std::uint64_t shift_keys = 37361;     // a prime: the hot range visits the whole key space

    const zipf_ranks &ranks_;
    std::uint64_t position_;
    std::uint64_t began_ticks_;
    std::uint64_t period_ticks_;
};

} // namespace holdfast::bench
