// SPDX-License-Identifier: MIT OR Apache-2.0
// Text that is safe on a terminal, and as wide as it is meant to be. As the locale has it (LC_CTYPE): in UTF-8 a
// character may take no column, one or two.
#pragma once

#include <cstddef>
#include <string>

namespace holdfast::cli::top {

// Names of programs and locks are other people's: what is not printable becomes '?'.
std::string printable(const std::string &text);

// Of printable text.
std::size_t columns_of(const std::string &text);

enum class side { left, right };

// Exactly that many columns: filled up with spaces, or cut, and then '+' is its last column.
std::string fitted(const std::string &text, std::size_t columns, side at = side::left);

// Whether the locale can show other characters than ASCII's.
bool locale_is_utf8();

} // namespace holdfast::cli::top
