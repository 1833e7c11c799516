// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/common/nearest_name.hpp"

#include <algorithm>

namespace holdfast::cli {
namespace {

// Damerau's and Levenshtein's distance, of neighbours that change places.
std::size_t distance(const std::string &a, const std::string &b) {
    std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); i++) {
        for (std::size_t j = 0; j <= b.size(); j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            rows[i][j] =
                std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
        }
    }
    return rows[a.size()][b.size()];
}

} // namespace

std::optional<std::string> nearest_name(const std::string &word, const std::vector<std::string> &names) {
    constexpr std::size_t length_max = 64; // no name is longer, and the work grows with it
    constexpr std::size_t beginning_min = 3;
    if (word.size() > length_max)
        return std::nullopt;
    std::optional<std::string> nearest;
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string &name : names) {
        std::size_t far = name.size() > length_max ? length_max : distance(word, name);
        if (word.size() >= beginning_min && name.starts_with(word))
            far = std::min<std::size_t>(far, 1);
        if (far < least) {
            least = far;
            nearest = name;
        }
    }
    return nearest;
}

std::string did_you_mean(const std::string &word, const std::vector<std::string> &names) {
    std::optional<std::string> nearest = nearest_name(word, names);
    return nearest ? ": did you mean '" + *nearest + "'?" : "";
}

} // namespace holdfast::cli
