// SPDX-License-Identifier: MIT OR Apache-2.0
// What holdfast says to its user beside its results. That it can't be written (a closed descriptor, a full disk) ends
// nothing: there is nobody left to tell. Names that others chose may be part of it: what would command a terminal is
// shown, not sent.
#pragma once

#include <cstdio>
#include <fmt/core.h>
#include <string>
#include <utility>

namespace holdfast::cli {

// Control characters, those of two bytes (C1) included, as \x1b.
inline std::string with_controls_shown(const std::string &text) {
    std::string safe;
    for (std::size_t i = 0; i < text.size(); i++) {
        auto byte = static_cast<unsigned char>(text[i]);
        auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        bool is_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
        if (byte == 0xc2 && next >= 0x80 && next < 0xa0)
            safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
        else
            safe += is_control ? fmt::format("\\x{:02x}", byte) : std::string(1, text[i]);
    }
    return safe;
}

// The same in one line, as a sentence is: names may have line ends.
inline std::string in_one_line(const std::string &text) {
    std::string line;
    for (char each : with_controls_shown(text))
        line += each == '\n' ? "\\x0a" : std::string(1, each);
    return line;
}

template <class... Values>
void say(fmt::format_string<Values...> format, Values &&...values) {
    std::string text = with_controls_shown(fmt::format(format, std::forward<Values>(values)...));
    std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace holdfast::cli
