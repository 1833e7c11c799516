// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/printable.hpp"

#include <cwchar>
#include <cwctype>
#include <langinfo.h>
#include <string_view>

namespace holdfast::cli::top {
namespace {

struct character {
    std::size_t bytes;   // at least 1
    std::size_t columns; // 0 where it adds to the character before
    bool printable;
};

character first_of(std::string_view text) {
    std::mbstate_t state{};
    wchar_t wide = 0;
    std::size_t bytes = std::mbrtowc(&wide, text.data(), text.size(), &state);
    if (bytes == 0 || bytes > text.size()) // the end of C's strings, nonsense, or cut in the middle
        return {.bytes = 1, .columns = 1, .printable = false};
    int columns = wcwidth(wide);
    return {.bytes = bytes,
            .columns = columns < 0 ? 1 : static_cast<std::size_t>(columns),
            .printable = columns >= 0 && std::iswprint(static_cast<std::wint_t>(wide))};
}

} // namespace

std::string printable(const std::string &text) {
    std::string safe;
    for (std::string_view rest = text; !rest.empty();) {
        character first = first_of(rest);
        safe += first.printable ? std::string(rest.substr(0, first.bytes)) : "?";
        rest.remove_prefix(first.bytes);
    }
    return safe;
}

std::size_t columns_of(const std::string &text) {
    std::size_t columns = 0;
    for (std::string_view rest = text; !rest.empty();) {
        character first = first_of(rest);
        columns += first.columns;
        rest.remove_prefix(first.bytes);
    }
    return columns;
}

std::string fitted(const std::string &text, std::size_t columns, side at) {
    std::size_t wide = columns_of(text);
    if (wide <= columns) {
        std::string fill(columns - wide, ' ');
        return at == side::left ? text + fill : fill + text;
    }
    std::string kept;
    std::size_t taken = 0;
    for (std::string_view rest = text; !rest.empty();) {
        character first = first_of(rest);
        if (taken + first.columns + 1 > columns)
            break;
        kept += rest.substr(0, first.bytes);
        taken += first.columns;
        rest.remove_prefix(first.bytes);
    }
    // A wide character may leave a column free.
    return columns == 0 ? "" : kept + "+" + std::string(columns - taken - 1, ' ');
}

bool locale_is_utf8() {
    return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

} // namespace holdfast::cli::top
