// SPDX-License-Identifier: MIT OR Apache-2.0
// What a sleep is for where its word looks like a lock's and is none. Shown able to fail, each by its own test: without
// HF_FUTEX_BY_BITSET in is_for_lock; with it for Holdfast's, too; without is_in_musl.
#include "cli/waits/wait_kind.hpp"
#include "monitor/bpf/futex_look.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

call_chain chain_of(const std::vector<std::string> &of_locks, const std::vector<std::string> &of_program) {
    call_chain chain;
    for (const std::string &each : of_locks)
        chain.push_back({.function = each, .file = "", .of_locks = true});
    for (const std::string &each : of_program)
        chain.push_back({.function = each, .file = ""});
    return chain;
}

std::string label_of(const call_chain &chain, std::uint32_t look) {
    return kind_of(chain, "", is_for_lock(chain, look)).label;
}

// glibc 2.41 and later; stripped of the names of what its functions call.
TEST(wait_kind, AConditionVariableThatCountsToTwoIsNoMutex) {
    call_chain chain = chain_of({"libc.so.6+0x8b7f0", "pthread_cond_wait"}, {"wait_for_work"});
    EXPECT_EQ(label_of(chain, HF_FUTEX_IS_TWO | HF_FUTEX_BY_BITSET), "cond");
    EXPECT_EQ(label_of(chain, HF_FUTEX_BY_BITSET), "cond");
}

TEST(wait_kind, TheMutexThatItTakesBackIsOne) {
    call_chain chain = chain_of({"libc.so.6+0x8b7f0", "libc.so.6+0x9bbc0", "pthread_cond_wait"}, {"wait_for_work"});
    EXPECT_EQ(label_of(chain, HF_FUTEX_IS_TWO), "mutex");
}

// Whose mutexes sleep by FUTEX_WAIT_BITSET, too, and whose conditions are never 2.
TEST(wait_kind, HoldfastsConditionTakesBackAMutex) {
    call_chain chain = chain_of({functions_of_holdfast, "pthread_cond_wait"}, {"wait_for_work"});
    EXPECT_EQ(label_of(chain, HF_FUTEX_IS_TWO | HF_FUTEX_BY_BITSET), "mutex");
    EXPECT_EQ(label_of(chain, 0), "cond");
}

TEST(wait_kind, AMutexWithADeadlineIsOne) {
    call_chain chain = chain_of({"libc.so.6+0x8b7f0", "pthread_mutex_clocklock"}, {"try_it"});
    EXPECT_EQ(label_of(chain, HF_FUTEX_IS_TWO | HF_FUTEX_BY_BITSET), "mutex");
}

// It has no tables to unwind by: nothing but the place of its call is known.
TEST(wait_kind, WhatIsTwoInMuslIsNoLock) {
    for (const char *function : {"ld-musl-x86_64.so.1+0x617e8", "libc.so+0x76e60", "__syscall_cp_asm", "__cp_end"}) {
        call_chain chain = chain_of({function}, {});
        EXPECT_EQ(label_of(chain, HF_FUTEX_IS_TWO), "sleep") << function;
        EXPECT_EQ(label_of(chain, HF_FUTEX_IS_OWNED), "lock") << function;
    }
}

} // namespace
} // namespace holdfast::cli
