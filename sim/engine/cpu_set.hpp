// SPDX-License-Identifier: MIT OR Apache-2.0
// A set of the simulated machine's CPUs, a bit each.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace holdfast::sim {

constexpr int cpus_max = 512;

class cpu_set {
public:
    bool has(int cpu) const { return words_[word(cpu)] >> (cpu % 64) & 1; }
    void add(int cpu) { words_[word(cpu)] |= std::uint64_t(1) << (cpu % 64); }
    void remove(int cpu) { words_[word(cpu)] &= ~(std::uint64_t(1) << (cpu % 64)); }
    void clear() { words_.fill(0); }
    bool empty() const {
        for (auto one : words_)
            if (one)
                return false;
        return true;
    }
    bool meets(const cpu_set &other) const {
        for (std::size_t i = 0; i < words_.size(); i++)
            if (words_[i] & other.words_[i])
                return true;
        return false;
    }
    bool is_within(const cpu_set &other) const {
        for (std::size_t i = 0; i < words_.size(); i++)
            if (words_[i] & ~other.words_[i])
                return false;
        return true;
    }
    template <typename action>
    void visit(action act) const {
        for (std::size_t i = 0; i < words_.size(); i++)
            for (auto bits = words_[i]; bits; bits &= bits - 1)
                act(static_cast<int>(i) * 64 + std::countr_zero(bits));
    }

private:
    static std::size_t word(int cpu) { return static_cast<std::size_t>(cpu) / 64; }
    std::array<std::uint64_t, cpus_max / 64> words_{};
};

} // namespace holdfast::sim
