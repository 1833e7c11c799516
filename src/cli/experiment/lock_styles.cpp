// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/lock_styles.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "cli/draw/plot.hpp"

namespace holdfast::cli {
namespace {

// By style. A lock of coroutines has that of the lock of threads that it stands for: ours, and what it is held against.
constexpr std::array<std::array<std::string_view, 3>, 7> known = {{{"glibc", "dispatch"},
                                                                   {"flexguard", "default", "ces"},
                                                                   {"blocking", "barging"},
                                                                   {"mcs", "with"},
                                                                   {"uscl", "inline"},
                                                                   {"ttas", "go"},
                                                                   {"ticket", "unlocked"}}};
static_assert(known.size() <= plot_styles);

// plot_styles: it has none of its own.
std::size_t own_style(const std::string &lock) {
    auto found = std::find_if(known.begin(), known.end(), [&lock](const auto &names) {
        return std::find(names.begin(), names.end(), lock) != names.end();
    });
    return found == known.end() ? plot_styles : static_cast<std::size_t>(found - known.begin());
}

} // namespace

std::vector<std::size_t> styles_of(const std::vector<std::string> &locks) {
    std::vector<std::size_t> styles(locks.size());
    std::set<std::size_t> used;
    std::transform(locks.begin(), locks.end(), styles.begin(), [&used](const auto &lock) {
        std::size_t own = own_style(lock);
        return own < plot_styles && used.insert(own).second ? own : plot_styles;
    });
    for (std::size_t next = 0; std::size_t & style : styles) {
        if (style < plot_styles)
            continue;
        while (used.size() < plot_styles && used.contains(next % plot_styles))
            next++;
        style = next++ % plot_styles;
        used.insert(style);
    }
    return styles;
}

} // namespace holdfast::cli
