// SPDX-License-Identifier: MIT OR Apache-2.0
// Counted sleepers (park/sleeper_counts.h): the states of an entry, what an unlock does in each, and a heavy fence that
// the kernel refuses.
//
// Shown able to fail (docs/verification.md, "Counted sleepers").
#include <atomic>
#include <cerrno>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/clock.h"
#include "park/forbidden_calls.hpp"
#include "park/membarrier.h"
#include "park/word_lock.h"

namespace {

using holdfast::test::forbid_calls;

uint32_t now_ms() {
    return static_cast<uint32_t>(hf_monotonic_ns() / 1'000'000);
}

int status_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

class sleepers : public testing::Test {
protected:
    alignas(64) uint32_t word = HF_WORD_FREE;
    uint8_t fenced = 0;
    hf_sleepers *here = hf_sleepers_at(&word);

    sleepers() { *here = {}; }

    bool lock_and_release(unsigned releases) {
        EXPECT_TRUE(hf_word_trylock(&word, HF_WORD_HELD));
        hf_word_owes owes = hf_word_release_counted(&word, releases, &fenced);
        EXPECT_EQ(word, static_cast<uint32_t>(HF_WORD_FREE));
        hf_word_pay(&word, owes);
        return owes == HF_WORD_OWES_WAKE;
    }

    void SetUp() override { ASSERT_TRUE(hf_heavy_fence_is_quick()) << "the kernel refuses membarrier"; }

    void become_unfenced() {
        here->fenced_at_ms = now_ms() - here->fenced_for_ms;
        hf_sleepers_try_unfenced(&word);
        ASSERT_TRUE(hf_nobody_sleeps(here));
    }

    // A sleeper comes to an UNFENCED entry.
    uint32_t fenced_for_after_being_unfenced_for(uint32_t ms) {
        here->fenced_at_ms = now_ms() - ms;
        hf_sleeper_comes(&word);
        hf_sleeper_goes(&word);
        return here->fenced_for_ms;
    }
};

TEST_F(sleepers, AreLookedForByAnExchangeUntilItHasBeenQuietFor256Releases) {
    for (unsigned releases = 1; releases < 256; releases++) {
        EXPECT_FALSE(lock_and_release(releases));
        EXPECT_FALSE(hf_nobody_sleeps(here));
    }
    EXPECT_FALSE(lock_and_release(256));
    EXPECT_TRUE(hf_nobody_sleeps(here));
    EXPECT_FALSE(lock_and_release(511));
    EXPECT_TRUE(fenced) << "its owners do not look at each release";
    EXPECT_FALSE(lock_and_release(512));
    EXPECT_FALSE(fenced);
    hf_sleeper_comes(&word);
    EXPECT_FALSE(lock_and_release(513));
    EXPECT_TRUE(fenced);
    hf_sleeper_goes(&word);
}

TEST_F(sleepers, MakeUnlocksExchangeWhileTheyAreCounted) {
    ASSERT_NO_FATAL_FAILURE(become_unfenced());
    hf_sleeper_comes(&word);
    EXPECT_EQ(here->state, 1u) << "FENCED, and one is counted";
    hf_sleeper_comes(&word);
    EXPECT_EQ(here->state, 2u);
    EXPECT_FALSE(lock_and_release(256)) << "one of another word";
    EXPECT_EQ(here->state, 2u) << "not UNFENCED while somebody is counted";
    word = HF_WORD_HELD_WITH_SLEEPERS;
    EXPECT_EQ(hf_word_release_counted(&word, 256, &fenced), HF_WORD_OWES_WAKE);
    hf_sleeper_goes(&word);
    hf_sleeper_goes(&word);
    EXPECT_EQ(here->state, 0u) << "FENCED, and nobody is counted";
}

TEST_F(sleepers, AreWokenByAnUnlockThatFindsTheWordAnnouncedThoughNobodyIsCounted) {
    ASSERT_NO_FATAL_FAILURE(become_unfenced());
    word = HF_WORD_HELD_WITH_SLEEPERS; // by a question, or one that has slept and holds the lock now
    EXPECT_EQ(hf_word_release_counted(&word, 1, &fenced), HF_WORD_OWES_WAKE);
    EXPECT_EQ(word, static_cast<uint32_t>(HF_WORD_FREE));
}

// The longer the sooner the next one comes: heavy fences interrupt others.
TEST_F(sleepers, KeepTheirEntryFencedForLongerAndLonger) {
    // Long times, of which a test that is preempted loses little.
    here->fenced_for_ms = 512;
    ASSERT_NO_FATAL_FAILURE(become_unfenced());
    EXPECT_EQ(fenced_for_after_being_unfenced_for(0), 1024u);
    hf_sleepers_try_unfenced(&word);
    EXPECT_FALSE(hf_nobody_sleeps(here)) << "before its time is over";
    ASSERT_NO_FATAL_FAILURE(become_unfenced());
    EXPECT_EQ(fenced_for_after_being_unfenced_for(0), 1024u) << "no longer than that";
    ASSERT_NO_FATAL_FAILURE(become_unfenced());
    EXPECT_EQ(fenced_for_after_being_unfenced_for(17 * 1024), 1u) << "it was UNFENCED for long";
}

TEST_F(sleepers, BecomeUnfencedHoweverLongTheMachineRuns) {
    for (uint32_t age : {0u, UINT32_C(1) << 31, UINT32_MAX - 60'000}) {
        *here = {};
        here->fenced_at_ms = now_ms() - age;
        hf_sleepers_try_unfenced(&word);
        EXPECT_TRUE(hf_nobody_sleeps(here)) << age;
    }
}

TEST_F(sleepers, KeepEveryEntryFencedOnceTheyMayBeUncounted) {
    ASSERT_NO_FATAL_FAILURE(become_unfenced());
    pid_t child = fork();
    if (child == 0) {
        hf_sleepers_may_be_uncounted();
        bool is_fenced = here->state == 1;
        hf_sleepers_try_unfenced(&word);
        uint32_t another = HF_WORD_HELD; // somewhere else in the table
        _exit(is_fenced && here->state == 1 && hf_sleepers_at(&another)->state == 1 ? 0 : 1);
    }
    EXPECT_EQ(status_of(child), 0);
}

TEST_F(sleepers, AreFencedForInAForkedChildToo) {
    ASSERT_TRUE(hf_heavy_fence_is_quick());
    pid_t child = fork();
    if (child == 0) {
        errno = EXDEV;
        hf_heavy_fence();
        _exit(hf_heavy_fence_is_quick() && errno == EXDEV ? 0 : 1);
    }
    EXPECT_EQ(status_of(child), 0);
}

// Shown able to fail: without either of the two parts of hf_sleepers_forgo_fences.
TEST_F(sleepers, MakeNoFenceOnceTheyForgoThem) {
    ASSERT_NO_FATAL_FAILURE(become_unfenced());
    pid_t child = fork();
    if (child == 0) {
        hf_sleepers_forgo_fences();
        bool is_fenced = here->state == 1;
        if (!forbid_calls({SYS_membarrier}, SECCOMP_RET_KILL_PROCESS))
            _exit(2);
        hf_heavy_fence(); // of a sleeper that has seen it UNFENCED
        _exit(is_fenced && !hf_heavy_fence_is_quick() ? 0 : 1);
    }
    EXPECT_EQ(status_of(child), 0);
}

TEST_F(sleepers, WaitForStoresToBeSeenWhereTheKernelRefusesTheFence) {
    ASSERT_NO_FATAL_FAILURE(become_unfenced());
    pid_t child = fork();
    if (child == 0) {
        // And the sleep that it would take in place of it.
        if (!forbid_calls({SYS_membarrier, SYS_clock_nanosleep}, SECCOMP_RET_ERRNO | EPERM))
            _exit(2);
        uint64_t before_ns = hf_monotonic_ns();
        errno = EXDEV;
        hf_sleeper_comes(&word);
        bool waited = hf_monotonic_ns() - before_ns >= 5 * 1000 * 1000;
        bool is_fenced = here->state == 1;
        hf_sleeper_goes(&word);
        here->fenced_at_ms -= 4096;
        hf_sleepers_try_unfenced(&word);
        bool stays_fenced = !hf_heavy_fence_is_quick() && here->state == 0;
        _exit(waited && is_fenced && stays_fenced && errno == EXDEV ? 0 : 1);
    }
    EXPECT_EQ(status_of(child), 0);
}

} // namespace
