// SPDX-License-Identifier: MIT OR Apache-2.0
// Where a thread was when it waited for a lock, or gave one back.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

struct call_frame {
    std::string function;  // plain; "server+0x1234" (file and offset) where no symbol is known
    std::string file;      // of the source; may be empty
    unsigned line = 0;     // 0: not known
    bool is_gos = false;   // of a program that Go's linker has made
    bool of_locks = false; // the C library's, Holdfast's, or the language's around them: not what the reader looks for

    bool operator==(const call_frame &) const = default;
};

// What the functions of our library that no program calls are called: their names tell nobody anything.
constexpr const char *functions_of_holdfast = "Holdfast";

// Innermost first. Empty where nothing could be read.
using call_chain = std::vector<call_frame>;

// The frame that the reader looks for: the innermost of the program's own, or the innermost of all. NULL of an empty
// chain.
const call_frame *place_in_program(const call_chain &chain);

// The outermost function of the C library's before that: "pthread_mutex_lock", "pthread_cond_wait". May be empty.
std::string lock_function_in(const call_chain &chain);

// The innermost frames are the library's of Holdfast's.
bool is_in_holdfast(const call_chain &chain);

// Has it a name of its own, or only a file and an offset?
bool is_named(const call_frame &frame);

// " < .. < handler::ha_update_row": the first of the program's functions around its place that has a name; may be
// empty.
std::string named_caller_of(const call_chain &chain);

// place_in_program in words, with the caller that has a name where it has none itself.
std::string place_in_words(const call_chain &chain);

// "lookup_in_cache (cache.cpp:120)"
std::string text_of(const call_frame &frame);

// "lookup_in_cache < serve < main", from place_in_program on, at most so many.
std::string callers_in_words(const call_chain &chain, std::size_t frames_max);

} // namespace holdfast::cli
