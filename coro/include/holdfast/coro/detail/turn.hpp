// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a coroutine may go on without being suspended. One that finds its lock free each time never has to wait, and
// without a limit whoever else is ready would starve: scheduling is cooperative.
//
// A worker's turn begins when it takes a coroutine from a queue. It is over after `turn_length` if somebody waits who
// has come from elsewhere; after `turn_length_max` if those who wait have only had their turns already, as the caller:
// they must not starve either, but to change them costs caches, and gains nothing.
//
// The clock is read at the first release of a free lock in a turn, and then after so many as last about `turn_length`,
// which is learnt: short sections cost a count, long ones a look each. What was learnt may be about another coroutine's
// sections, so the first look comes after `first_look_max` of them at the latest. A later look asks who is there, and
// reads the clock only if there are guests, or if a quarter of `turn_length_max` has gone by since it was read: where a
// clock costs 20 ns or more, reading it every 2.5 us is the largest part of what turns cost.
// Model: verify/coro/turn.pml. Test: tests/coro/turn_test. Figures: docs/coroutines-figures.md.
#pragma once

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstdint>

namespace holdfast::coro {

inline constexpr std::chrono::nanoseconds turn_length{2'500};
inline constexpr std::chrono::nanoseconds turn_length_max{100'000};

// What is ready to run on a thread if the caller is suspended.
enum class crowd : std::uint8_t {
    nobody,
    rotated, // only those whose turn was over, or who gave their thread to the next owner of a lock
    guests,  // others too
};

struct turn {
    std::uint32_t operations = 0;                // in this turn
    std::uint32_t next_look = 0;                 // at which of them
    std::uint32_t stride = 1;                    // operations that last as long as turn_length
    std::uint32_t looks_unclocked = 0;           // that may follow while there are no guests
    std::chrono::steady_clock::time_point began; // at the first operation

    // After an operation, the turn is over when it does not go on and ends. The first counts, which is all that most
    // operations see; where it is false the second asks `waiting()` whether somebody is there for whom the turn ends,
    // and looks at the clock.
    bool goes_on() noexcept { return ++operations > 1 && operations < next_look; }
    template <class Waiting>
    bool ends(Waiting waiting) noexcept {
        if (operations == 1 || began == std::chrono::steady_clock::time_point()) {
            began = std::chrono::steady_clock::now();
            next_look = operations + std::min(stride, first_look_max);
            looks_unclocked = 0; // the first look learns
            return false;
        }
        crowd there = waiting();
        if (there != crowd::guests && looks_unclocked > 0) {
            looks_unclocked--;
            next_look = operations + stride;
            return false;
        }
        return look(std::chrono::steady_clock::now() - began, there);
    }

    // For turns of which most end soon by themselves: the clock is not read before so many operations.
    void begin_unclocked() noexcept {
        operations = 1;
        next_look = 64;
    }

private:
    static constexpr std::int64_t stride_max = 1 << 20;
    static constexpr std::uint32_t first_look_max = 8;

    bool look(std::chrono::nanoseconds length, crowd there) noexcept {
        std::int64_t each_ns = std::max<std::int64_t>(1, length.count() / (operations - 1));
        stride = static_cast<std::uint32_t>(std::clamp<std::int64_t>(turn_length.count() / each_ns, 1, stride_max));
        next_look = operations + stride;
        std::int64_t between_looks_ns = std::max(each_ns, turn_length.count());
        looks_unclocked = static_cast<std::uint32_t>(turn_length_max.count() / 4 / between_looks_ns);
        if (length < turn_length - std::chrono::nanoseconds(each_ns))
            return false; // looked too early
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

// The same where the coroutine can't be suspended: it is noted.
void note_turn() noexcept;
// Was it noted, since the turn began? Asked once: then end_turn().
[[nodiscard]] bool turn_was_over() noexcept;

// Queues `self`, which must not be touched any more, behind the tasks that are ready.
bool end_turn(std::coroutine_handle<> self) noexcept;

} // namespace detail

} // namespace holdfast::coro
