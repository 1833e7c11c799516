// SPDX-License-Identifier: MIT OR Apache-2.0
// What a sleep in a futex is for, as far as the waiter's stack and the word's symbol tell.
#pragma once

#include <cstdint>
#include <string>

#include "cli/waits/call_chain.hpp"

namespace holdfast::cli {

enum class wait_class {
    lock,  // a mutex, a reader-writer lock, a lock of a language's machine
    own,   // a futex that the program calls itself: a lock, a condition or a queue of its own design
    other, // a condition, a semaphore, a join, or what nobody can tell
};

struct wait_kind {
    wait_class is = wait_class::other;
    std::string label = "sleep"; // at most 7 characters: "rwlock", "cond", "sem"
    // What is one for the whole process, whatever its words: "Python's GIL". Empty: the word tells which it is.
    std::string name{};
    // Of a machine that lets each thread sleep at a word of its own: its waker may be one that was handed the lock.
    bool parks = false;
};

// Is a sleep that looks like one for a lock (enum hf_futex_look) for a lock? What else is expected to be 2 is told from
// that by the function that sleeps.
bool is_for_lock(const call_chain &waiter, std::uint32_t look);

// `for_lock`: as above.
wait_kind kind_of(const call_chain &waiter, const std::string &symbol, bool for_lock);

// Two words of one object have the same: glibc's condition variables and reader-writer locks sleep at several.
std::uint64_t object_of(const wait_kind &kind, std::uint64_t address);
std::string object_of(const wait_kind &kind, const std::string &symbol);

} // namespace holdfast::cli
