// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/base64.hpp"

#include <cstdint>

namespace holdfast::cli::report {

std::string base64(std::string_view bytes) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::size_t here = bytes.size() - at < 3 ? bytes.size() - at : 3;
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < 3; i++)
            group = group << 8 | (i < here ? static_cast<unsigned char>(bytes[at + i]) : 0u);
        for (std::size_t i = 0; i < 4; i++)
            text += i <= here ? digits[group >> (18 - 6 * i) & 63] : '=';
    }
    return text;
}

} // namespace holdfast::cli::report
