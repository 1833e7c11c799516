// SPDX-License-Identifier: MIT OR Apache-2.0
// Moments of <chrono> as the C functions take them; a part of the C++ faces, not for use by itself. std::chrono::ceil
// and floor came with C++17, and these faces are for C++11 as well.
#ifndef HOLDFAST_DEADLINE_HPP
#define HOLDFAST_DEADLINE_HPP

#include <chrono>
#include <time.h>
#include <type_traits>

#if __cplusplus >= 201703L
#define HF_NODISCARD [[nodiscard]]
#else
#define HF_NODISCARD __attribute__((warn_unused_result))
#endif

namespace holdfast {
namespace detail {

// Rounded up: a thread that waits for so long does not give up too early.
template <class Duration>
std::chrono::nanoseconds nanoseconds_of(const Duration &time) {
    std::chrono::nanoseconds ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time);
    return ns < time ? ns + std::chrono::nanoseconds(1) : ns;
}

template <class Duration>
timespec timespec_of(const Duration &since_epoch) {
    std::chrono::nanoseconds ns = nanoseconds_of(since_epoch);
    std::chrono::seconds s = std::chrono::duration_cast<std::chrono::seconds>(ns);
    if (s > ns)
        s -= std::chrono::seconds(1);
    timespec made = {};
    made.tv_sec = static_cast<time_t>(s.count());
    made.tv_nsec = static_cast<long>((ns - s).count());
    return made;
}

// The kernel's clock behind one of <chrono>'s; no `value` for any other.
template <class Clock>
struct clock_id {};
template <>
struct clock_id<std::chrono::system_clock> : std::integral_constant<clockid_t, CLOCK_REALTIME> {};
template <>
struct clock_id<std::chrono::steady_clock> : std::integral_constant<clockid_t, CLOCK_MONOTONIC> {};

// When a wait of that length, begun now, is over.
template <class Duration>
std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds> after(const Duration &time) {
    return std::chrono::steady_clock::now() + nanoseconds_of(time);
}

} // namespace detail
} // namespace holdfast

#endif
