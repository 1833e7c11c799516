// SPDX-License-Identifier: MIT OR Apache-2.0
// Shown able to fail: styles by place; a style of its own that is given twice.
#include "cli/experiment/lock_styles.hpp"

#include <gtest/gtest.h>
#include <set>

#include "cli/draw/plot.hpp"

namespace holdfast::cli {
namespace {

TEST(lock_styles, ALockLooksTheSameBesideWhateverElse) {
    std::size_t flexguard = styles_of({"flexguard"})[0];
    EXPECT_EQ(styles_of({"glibc", "clh", "flexguard"})[2], flexguard);
    EXPECT_EQ(styles_of({"clh", "mcs", "blocking", "flexguard"})[3], flexguard);
}

TEST(lock_styles, NoTwoLinesLookAlikeWhileThereAreStyles) {
    std::vector<std::string> locks{"clh", "default", "ces", "flexguard", "mcs", "absl", "glibc", "nsync"};
    std::vector<std::size_t> styles = styles_of(locks);
    EXPECT_EQ(std::set(styles.begin(), styles.end()).size(), plot_styles);
    locks.insert(locks.end(), {"tbb", "shuffle"});
    for (std::size_t style : styles_of(locks))
        EXPECT_LT(style, plot_styles);
}

} // namespace
} // namespace holdfast::cli
