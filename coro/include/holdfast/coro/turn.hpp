// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a coroutine may go on without being suspended. One that finds its lock free each time never has to wait, and
// without a limit whoever else is ready would starve: scheduling is cooperative.
//
// A worker's turn begins when it takes a coroutine from a queue. It is over after `turn_length` if somebody waits who
// has come from elsewhere; after `turn_length_max` if those who wait have only had their turns already, as the caller:
// they must not starve either, but to change them costs caches, and gains nothing.
//
// The clock is read at the first release of a free lock in a turn, and then after so many as last about `turn_length`,
// which is learnt: short sections cost a count, long ones a look at the clock each. What was learnt may be about
// another coroutine's sections, so the first look comes after `first_look_max` of them at the latest.
// Test: tests/coro/turn_test. Figures: docs/coroutines.md.
#pragma once

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstdint>

namespace holdfast::coro {

inline constexpr std::chrono::nanoseconds turn_length{3'000};
inline constexpr std::chrono::nanoseconds turn_length_max{100'000};

// Who is ready to run on a thread if the caller is suspended.
enum class crowd : std::uint8_t {
    nobody,
    rotated, // only those whose turn was over, or who gave their thread to the next owner of a lock
    guests,  // others too
};

struct turn {
    std::uint32_t operations = 0;                // in this turn
    std::uint32_t next_look = 0;                 // at which of them
    std::uint32_t stride = 1;                    // operations that last as long as turn_length
    std::chrono::steady_clock::time_point began; // at the first operation

    // After an operation, the turn is over when it does not go on and ends. The first counts, which is all that most
    // operations see; where it is false the second looks at the clock, and asks `waiting()` whether somebody is there
    // for whom the turn ends.
    bool goes_on() noexcept { return ++operations > 1 && operations < next_look; }
    template <class Waiting>
    bool ends(Waiting waiting) noexcept {
        auto time = std::chrono::steady_clock::now();
        if (operations == 1) {
            began = time;
            next_look = 1 + std::min(stride, first_look_max);
            return false;
        }
        return look(time - began, waiting);
    }

private:
    static constexpr std::int64_t stride_max = 1 << 20;
    static constexpr std::uint32_t first_look_max = 8;

    template <class Waiting>
    bool look(std::chrono::nanoseconds length, Waiting waiting) noexcept {
        std::int64_t each_ns = std::max<std::int64_t>(1, length.count() / (operations - 1));
        stride = static_cast<std::uint32_t>(std::clamp<std::int64_t>(turn_length.count() / each_ns, 1, stride_max));
        next_look = operations + stride;
        if (length < turn_length - std::chrono::nanoseconds(each_ns))
            return false; // looked too early
        crowd there = waiting();
        if (there == crowd::nobody || (there == crowd::rotated && length < turn_length_max))
            return false;
        operations = 0;
        return true;
    }
};

namespace detail {

// Where a coroutine could be suspended but need not be: true when it has had its turn. Then end_turn() in its
// await_suspend.
[[nodiscard]] bool turn_is_over() noexcept;

// Queues `self`, which must not be touched any more, behind whoever is ready.
bool end_turn(std::coroutine_handle<> self) noexcept;

} // namespace detail

} // namespace holdfast::coro
