// SPDX-License-Identifier: MIT OR Apache-2.0
// Which tasks wait for what, and on whose behalf: for a program that hangs, or a debugger's console.
//
//     waits::watch(true);                         // before the tasks of interest begin
//     statistics::name(accounts, "accounts");     // else its address is printed
//     ...
//     waits::print(stderr);
//
//     mutex accounts, for 12.4 s
//         task<> pay_in(account&, long int) (bank.cpp:12)
//         task<> serve(connection) (bank.cpp:40)
//     sleep, for 0.2 s, at most 0.8 s more
//         task<> retry() (bank.cpp:61)
//
// While nobody watches, a task that begins, is awaited or ends tests a word, as does a wait; nothing is called. While
// somebody does, each takes a lock of the process and a place in a table.
// Test: tests/coro/waits_test.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/coro/detail/observation.hpp"

namespace holdfast::coro {

// A task's coroutine, by what the compiler says of it.
struct coroutine_name {
    std::string function;
    std::string file;
    unsigned line = 0;
};

struct waiting_task {
    primitive_kind kind{};
    const void *address = nullptr;        // of the primitive; of a select, its first channel; of a sleep, none
    std::string name;                     // as given to statistics::name(), or empty
    std::uint64_t waits_ns = 0;           // for how long so far
    std::optional<std::uint64_t> left_ns; // until its time limit, if it has one
    // The coroutine that waits, then the one that awaits it, and so on, as far as they began while somebody watched.
    std::vector<coroutine_name> stack;
};

namespace waits {

// Begins with nothing known, or ends. From any thread.
void watch(bool on) noexcept;
[[nodiscard]] bool watching() noexcept;
// Those that wait for a primitive or sleep, the longest first. Exact while nothing runs. O(tasks).
// Throws std::bad_alloc.
[[nodiscard]] std::vector<waiting_task> read();
// read(), a task with its stack each.
void print(std::FILE *to);

} // namespace waits

} // namespace holdfast::coro
