// SPDX-License-Identifier: MIT OR Apache-2.0
// What the screen shows, as text: lines of a given width. Functions of their arguments alone; terminal.hpp puts them on
// the screen.
#pragma once

#include <string>
#include <vector>

#include "cli/top/change.hpp"

namespace holdfast::cli::top {

enum class style {
    plain,
    title,
    heading,
    dim, // what only the kernel has seen
    warning,
};

struct line {
    std::string text;
    style how = style::plain;
    bool selected = false;
};

struct page_size {
    std::size_t columns;
    std::size_t lines;
};

// A process, or a lock of it: what a line of the table is about.
struct row {
    const process_change *process = nullptr;
    const lock_change *lock = nullptr; // nullptr: the process itself
};

// The processes, each with its first so many locks.
std::vector<row> rows_of(const std::vector<process_change> &processes, std::size_t locks_of_each);

// The monitors' state and the share of the time that waiters spin, in two lines.
std::vector<line> summary(const change &what, std::size_t columns);

line table_heading(std::size_t columns);
line table_line(const row &what, std::size_t columns);

// Who waits for it where, and who holds it: a line each, as far as stacks are seen.
std::vector<std::string> places_in_words(const lock_change &lock, std::size_t columns);

// All about one lock, in at most so many lines.
std::vector<line> lock_page(const row &what, page_size size, bool since_beginning);

std::vector<line> help_page(page_size size);

// A share of 1 as a bar.
std::string bar(double share, std::size_t columns);

} // namespace holdfast::cli::top
