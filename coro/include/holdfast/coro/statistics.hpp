// SPDX-License-Identifier: MIT OR Apache-2.0
// Counters of each primitive that somebody had to wait for. With HOLDFAST_CORO_STATS=1 in the environment they are
// counted from the start, and printed on stderr when the program ends; a program may also do it by hand:
//
//     statistics::name(accounts, "accounts");
//     statistics::count(true);
//     ...
//     for (const primitive_counts &one : statistics::read()) ...
//
// A primitive is told from others by its kind and its address: those that live one after another in one place share
// their counters. After `statistics::primitives_max` of them the others are counted together, by kind.
// Test: tests/coro/statistics_test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/coro/detail/observation.hpp"

namespace holdfast::coro {

[[nodiscard]] std::string_view name_of(primitive_kind kind) noexcept;

// Queuing delays: from the moment at which a waiter is given what it waits for, until it runs.
struct delay_histogram {
    static constexpr std::size_t buckets = 40;
    // counts[i]: delays of less than 2^i ns, and of 2^(i-1) or more; the last one: all that are longer.
    std::array<std::uint64_t, buckets> counts{};

    [[nodiscard]] static std::size_t bucket_of(std::uint64_t delay_ns) noexcept;
    [[nodiscard]] std::uint64_t total() const noexcept;
    // An upper bound of the delay that so many of a hundred are below; 0 when there are none. Requires 0 <= percent <=
    // 100.
    [[nodiscard]] std::uint64_t percentile_ns(double percent) const noexcept;
};

struct primitive_counts {
    primitive_kind kind{};
    const void *address = nullptr;                // null: all those of this kind that found no room
    std::string name;                             // as given to statistics::name(), or empty
    std::array<std::uint64_t, passages> chosen{}; // waits that ended well, by the way in which (enum passage)
    std::uint64_t given_up = 0;                   // waits that reached a limit first
    delay_histogram delays;

    [[nodiscard]] std::uint64_t by(passage how) const noexcept { return chosen[static_cast<std::size_t>(how)]; }
    // Waiters that were given what they waited for: of a mutex, the hand-overs.
    [[nodiscard]] std::uint64_t hand_overs() const noexcept;
};

namespace statistics {

inline constexpr std::size_t primitives_max = 1024;

// Waits that are under way are counted only if it was on when they were chosen. Allocates at the first call; throws
// std::bad_alloc.
void count(bool on);
[[nodiscard]] bool counting() noexcept;

// All that have been counted, those with most hand-overs first. Exact while nobody waits.
[[nodiscard]] std::vector<primitive_counts> read();
// Forgets all counters. What is counted meanwhile may be lost, or be taken for another primitive's.
void reset() noexcept;

// What read() and print() call the primitive at this address, until another name is given to it.
template <class Primitive>
void name(const Primitive &primitive, std::string as);

// read(), as a table; nothing when nothing was counted.
void print(std::FILE *to);

void name_address(const void *address, std::string as);
// Empty: it has none.
[[nodiscard]] std::string name_of_address(const void *address);

} // namespace statistics

template <class Primitive>
void statistics::name(const Primitive &primitive, std::string as) {
    name_address(&primitive, std::move(as));
}

} // namespace holdfast::coro
