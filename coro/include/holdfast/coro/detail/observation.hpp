// SPDX-License-Identifier: MIT OR Apache-2.0
// What primitives note of waits and sections while somebody wants to know: statistics.hpp counts, trace.hpp keeps
// events. While nobody does, a wait and a section each test one word; nothing is called. Cost:
// docs/coroutines-reference.md, "Seeing what they do".
#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>

namespace holdfast::coro {

enum class primitive_kind : std::uint8_t {
    mutex,
    shared_mutex,
    semaphore,
    condition_variable,
    channel,
    event,
    barrier,
    scope,
    sleep // of no primitive: waits.hpp lists it, statistics do not count it
};
inline constexpr unsigned primitive_kinds = 8; // those that are counted

// How a waiter that was chosen came to run.
enum class passage : std::uint8_t {
    at_once,    // on the thread of the task that chose it, before anything else there
    queued,     // through a queue of its executor
    chain_end,  // the same, since the chain of hand-overs had become long
    destructor, // the same, since a guard's destructor can't suspend
    combined,   // it was not resumed for it: its function ran on the thread of the task that chose it
    notified    // as at_once, by an awaited notification of a condition variable whose mutex was free
};
inline constexpr unsigned passages = 6;

namespace detail {

// Bits of `observed`.
inline constexpr unsigned counting = 1, tracing = 2, watching = 4;

// Relaxed everywhere: it is no message between threads, and a task that sees it late notes a little more or less.
extern std::atomic<unsigned> observed;

[[nodiscard]] inline bool noting(unsigned what) noexcept {
    return __builtin_expect(observed.load(std::memory_order_relaxed) & what, 0) != 0;
}
[[nodiscard]] inline bool noting() noexcept {
    return noting(counting | tracing);
}
void set_noting(unsigned what, bool on) noexcept;

// Not 0.
[[nodiscard]] std::uint64_t observation_clock_ns() noexcept;

// A wait is over. `chosen_ns`: when the waiter was given what it waited for; it runs now.
void note_wait(primitive_kind kind, const void *primitive, passage how, std::uint64_t chosen_ns) noexcept;
// A wait is over without success.
void note_given_up(primitive_kind kind, const void *primitive) noexcept;

// A mutex's section begins, or is about to end, on this thread. Called with the mutex held.
void note_section_begin(const void *mutex) noexcept;
void note_section_end(const void *mutex) noexcept;

// Resumes it, and notes from when until when it ran.
void resume_noted(std::coroutine_handle<> one) noexcept;

// For waits.hpp. A task's coroutine has been made; it is awaited by another; its frame goes.
void note_coroutine(const void *frame, const char *function, const char *file, unsigned line) noexcept;
void note_awaited(const void *frame, const void *by) noexcept;
void note_gone(const void *frame) noexcept;
// It is about to wait for a primitive; it does no longer.
void note_waiting(const void *frame, primitive_kind kind, const void *primitive) noexcept;
// Its wait, which is about to begin, will end at that time of std::chrono::steady_clock.
void note_deadline(const void *frame, std::chrono::steady_clock::time_point at) noexcept;
void note_waits_no_more(const void *frame) noexcept;

inline void section_begins(const void *mutex) noexcept {
    if (noting(tracing))
        note_section_begin(mutex);
}
inline void section_ends(const void *mutex) noexcept {
    if (noting(tracing))
        note_section_end(mutex);
}

} // namespace detail

} // namespace holdfast::coro
