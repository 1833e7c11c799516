// SPDX-License-Identifier: MIT OR Apache-2.0
// A trace of who ran where, for chrome://tracing and ui.perfetto.dev. With HOLDFAST_CORO_TRACE=FILE in the environment
// the whole program is traced; a program may also do it by hand:
//
//     trace::start();
//     ...
//     trace::stop();
//     trace::write("trace.json");
//
// It has two groups of tracks. "threads": a track for each thread, on it the times at which coroutines ran there, and
// inside these the critical sections that began and ended in them. "mutexes": a track for each mutex, with one slice
// for each section, called after the thread that ran it: as long as the name stays the same, so does the thread.
// Only sections of mutexes are traced: those of readers overlap.
// Test: tests/coro/trace_test.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

namespace holdfast::coro::trace {

// A thread keeps so many events, 32 bytes each; what comes after them is counted and left out.
inline constexpr std::size_t events_max = 1 << 16;

// Begins a new trace; what is kept of one before is dropped. Allocates some memory, and 2 MB for each thread that runs
// coroutines later.
void start();
void stop() noexcept;

// What has been traced so far, as JSON in Chrome's trace event format. Throws std::runtime_error when the file can't be
// written. After stop().
void write(const std::string &path);
void write(std::ostream &to);

} // namespace holdfast::coro::trace
