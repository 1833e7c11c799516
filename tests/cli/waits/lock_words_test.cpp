// SPDX-License-Identifier: MIT OR Apache-2.0
// Which words of a process are locks', by the kernel's counts alone. Shown able to fail: is_lock_word by lock_waits
// alone (a condition in passing), and without in_musl; lock_totals::of that leaves the process's sum as it is.
#include "cli/waits/lock_words.hpp"
#include "monitor/bpf/futex_look.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

futex_waits word_at(std::uint64_t address, std::uint64_t sleeps, std::uint64_t lock_waits, std::uint64_t twos) {
    futex_waits word{};
    word.key.address = address;
    word.totals.sleeps = sleeps;
    word.totals.lock_waits = lock_waits;
    word.totals.twos = twos;
    word.totals.lock_waited_ns = lock_waits * 1000;
    word.totals.longest_ns = lock_waits == 0 ? 0 : 1000 + address;
    word.totals.bucket[9] = static_cast<std::uint32_t>(lock_waits);
    return word;
}

futex_waits sum_of(const std::vector<futex_waits> &words) {
    futex_waits sum{};
    for (const futex_waits &each : words) {
        sum.totals.sleeps += each.totals.sleeps;
        sum.totals.lock_waits += each.totals.lock_waits;
        sum.totals.twos += each.totals.twos;
        sum.totals.lock_waited_ns += each.totals.lock_waited_ns;
        sum.totals.longest_ns = std::max(sum.totals.longest_ns, each.totals.longest_ns);
        sum.totals.bucket[9] += each.totals.bucket[9];
    }
    return sum;
}

// A condition variable of glibc's 2.41, or a barrier, that was 2 for some of its waiters.
TEST(lock_words, ACountThatIsTwoInPassingIsNoLock) {
    std::vector<futex_waits> words = {word_at(8, 100, 100, 100), word_at(16, 1000, 40, 40), word_at(24, 7, 0, 0)};
    lock_totals found = lock_totals::of(sum_of(words).totals, words, false);
    ASSERT_EQ(found.words.size(), 1U);
    EXPECT_EQ(found.words[0].key.address, 8U);
    EXPECT_EQ(found.all.sleeps, 1107U);
    EXPECT_EQ(found.all.lock_waits, 100U);
    EXPECT_EQ(found.all.lock_waited_ns, 100'000U);
    EXPECT_EQ(found.all.longest_ns, 1008U);
    EXPECT_EQ(found.all.bucket[9], 100U);
}

TEST(lock_words, WhatLayAtALocksPlaceBeforeDoesNotCount) {
    EXPECT_TRUE(is_lock_word(word_at(8, 1001, 1000, 1000).totals, false));
}

TEST(lock_words, TwosOfMuslsAreConditionsAndOwnedWordsItsMutexes) {
    std::vector<futex_waits> words = {word_at(8, 50, 50, 50), word_at(16, 60, 60, 0)};
    EXPECT_EQ(lock_totals::of(sum_of(words).totals, words, false).all.lock_waits, 110U);
    lock_totals found = lock_totals::of(sum_of(words).totals, words, true);
    ASSERT_EQ(found.words.size(), 1U);
    EXPECT_EQ(found.words[0].key.address, 16U);
    EXPECT_EQ(found.all.lock_waits, 60U);
}

TEST(lock_words, SleepersAreForWhatTheirWordIs) {
    std::vector<futex_waits> words = {word_at(8, 100, 100, 100), word_at(16, 1000, 40, 40)};
    auto sleeps_at = [&](std::uint64_t address, std::uint32_t look, bool in_musl) {
        hf_futex_sleeper sleeper{};
        sleeper.key.address = address;
        sleeper.look = look;
        return is_lock_sleeper(sleeper, words, in_musl);
    };
    EXPECT_TRUE(sleeps_at(8, HF_FUTEX_IS_TWO, false));
    EXPECT_FALSE(sleeps_at(16, HF_FUTEX_IS_TWO, false));
    EXPECT_TRUE(sleeps_at(24, HF_FUTEX_IS_TWO, false)) << "nothing else is known";
    EXPECT_FALSE(sleeps_at(24, HF_FUTEX_IS_TWO, true));
    EXPECT_TRUE(sleeps_at(24, HF_FUTEX_IS_OWNED, true));
}

} // namespace
} // namespace holdfast::cli
