// SPDX-License-Identifier: MIT OR Apache-2.0
// What a symbol is called in the source. Symbols are named by processes that may want to harm their reader: what
// is made of a name is bounded in time and size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::cli {

// What goes beyond it is cut off.
constexpr std::size_t symbol_name_bytes_max = 4096;

// "holdfast::look(int)" of "_ZN8holdfast4lookEi", "memcpy" of "memcpy@GLIBC_2.14". A mangled name whose plain form
// could be millions of bytes long stays as it is.
std::string plain_symbol_name(const std::string &symbol);

// "queue_member::lock" of "(anonymous namespace)::queue_member((anonymous namespace)::options const&)::lock".
std::string without_parentheses(std::string_view name);

} // namespace holdfast::cli
