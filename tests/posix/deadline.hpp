// SPDX-License-Identifier: MIT OR Apache-2.0
// Deadlines: absolute times as the timed functions of POSIX take them.
#pragma once

#include <ctime>

namespace holdfast::test {

inline constexpr clockid_t every_clock[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};

inline timespec from_now(clockid_t clock, long ms) {
    timespec at{};
    clock_gettime(clock, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1'000'000;
    at.tv_sec += at.tv_nsec / 1'000'000'000;
    at.tv_nsec %= 1'000'000'000;
    return at;
}

inline bool has_passed(clockid_t clock, const timespec &at) {
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec);
}

inline constexpr timespec long_ago = {.tv_sec = 1, .tv_nsec = 0};
inline constexpr timespec before_the_epoch = {.tv_sec = -1, .tv_nsec = 0};
inline constexpr timespec impossible = {.tv_sec = 1, .tv_nsec = 1'000'000'000};
inline constexpr timespec impossible_too = {.tv_sec = 1, .tv_nsec = -1};

inline constexpr timespec before_the_epoch_and_impossible = {.tv_sec = -1, .tv_nsec = -1};

} // namespace holdfast::test
