// SPDX-License-Identifier: MIT OR Apache-2.0
// Files that many have mapped, and as many more as one can make of them by links, to have them read again and again.
//
// Shown able to fail: read for each (ReadsAFileOnce…); without giving back (GivesBack…); with what was left out for one
// kept for all (…DoesNotLeaveOut…); without a limit of its own (KeepsNoMore…).
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "cli/symbols/symbol_files.hpp"

namespace holdfast::cli {
namespace {

class symbol_files_test : public testing::Test {
protected:
    symbol_files_test() {
        std::string name = testing::TempDir() + "/symbol_files_test.XXXXXX";
        directory_ = mkdtemp(name.data());
        std::filesystem::copy_file("/proc/self/exe", directory_ / "file");
        std::filesystem::copy_file("/proc/self/exe", directory_ / "other");
        std::filesystem::create_hard_link(directory_ / "file", directory_ / "link");
    }
    ~symbol_files_test() override { std::filesystem::remove_all(directory_); }

    descriptor opened(const char *name) const { return open_regular_file(directory_ / name); }

    std::size_t cost() const {
        std::size_t left = elf_bytes_max;
        symbol_files().of(opened("file"), left);
        return elf_bytes_max - left;
    }

    std::filesystem::path directory_;
};

TEST_F(symbol_files_test, ReadsAFileOnceByWhateverNames) {
    symbol_files files;
    std::size_t left = elf_bytes_max;
    auto first = files.of(opened("file"), left);
    ASSERT_TRUE(first && first->complete && !first->symbols.empty());
    std::size_t left_then = left;
    EXPECT_LT(left_then, elf_bytes_max);
    EXPECT_EQ(files.of(opened("link"), left), first);
    EXPECT_EQ(left, left_then);
    EXPECT_NE(files.of(opened("other"), left), first);
    EXPECT_LT(left, left_then);
}

TEST_F(symbol_files_test, DoesNotLeaveOutForAllWhatOneHadNoRoomFor) {
    symbol_files files;
    std::size_t little = cost() / 2, enough = elf_bytes_max;
    auto part = files.of(opened("file"), little);
    ASSERT_TRUE(part);
    EXPECT_FALSE(part->complete);
    EXPECT_TRUE(files.of(opened("file"), enough)->complete);
}

TEST_F(symbol_files_test, KeepsNoMoreThanItsLimit) {
    symbol_files files(cost() * 3 / 2);
    std::size_t left = elf_bytes_max;
    auto one = files.of(opened("file"), left), two = files.of(opened("other"), left);
    EXPECT_TRUE(one->complete);
    EXPECT_FALSE(two->complete);
}

TEST_F(symbol_files_test, GivesBackWhatNobodyHasAnyMore) {
    symbol_files files(cost() * 3 / 2);
    std::size_t left = elf_bytes_max;
    for (const char *name : {"file", "other", "file", "other"})
        EXPECT_TRUE(files.of(opened(name), left)->complete) << name;
}

TEST_F(symbol_files_test, HasNothingOfWhatIsNotThere) {
    std::size_t left = elf_bytes_max;
    EXPECT_FALSE(symbol_files().of(opened("none"), left));
    EXPECT_EQ(left, elf_bytes_max);
}

} // namespace
} // namespace holdfast::cli
