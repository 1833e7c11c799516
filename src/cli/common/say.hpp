// SPDX-License-Identifier: MIT OR Apache-2.0
// What holdfast says to its user beside its results. That it can't be written (a closed descriptor, a full disk) ends
// nothing: there is nobody left to tell.
#pragma once

#include <cstdio>
#include <fmt/core.h>
#include <string>
#include <utility>

namespace holdfast::cli {

template <class... Values>
void say(fmt::format_string<Values...> format, Values &&...values) {
    std::string text = fmt::format(format, std::forward<Values>(values)...);
    std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace holdfast::cli
