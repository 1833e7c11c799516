// SPDX-License-Identifier: MIT OR Apache-2.0
// sleep.S1 (park/sleeper_counts.h) on the machine itself: one thread gives a word back by plain stores as fast as it
// can, another one announces sleeps on it. Both announcement and store are of a moment; a lost one shows as a sleep
// that only its deadline ends.
//
// Shown able to fail (docs/verification.md, "Counted sleepers").
#include <atomic>
#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "park/deadline.h"
#include "park/membarrier.h"
#include "park/word_lock.h"

namespace {

constexpr int enough_announcements = 50'000;
constexpr auto long_enough = std::chrono::seconds(20);

// Longer than a machine with other work keeps a thread waiting.
hf_deadline in_two_minutes() {
    hf_deadline deadline{.clock = CLOCK_MONOTONIC, .at = {}};
    clock_gettime(CLOCK_MONOTONIC, &deadline.at);
    deadline.at.tv_sec += 120;
    return deadline;
}

// The lines that both write hold up the store of FREE behind them, in the store buffer, while the look goes ahead.
struct alignas(64) contended_word {
    uint32_t word = HF_WORD_FREE;
    uint8_t fenced = 0;
    struct alignas(64) line {
        std::atomic<unsigned long> value;
    } lines[8];

    void write_lines() {
        for (line &each : lines)
            each.value.store(1, std::memory_order_relaxed);
    }

    void release(unsigned releases) { hf_word_pay(&word, hf_word_release_counted(&word, releases, &fenced)); }
};

// An entry becomes UNFENCED at once, not when it has been quiet for a while.
void make_unfenced(const uint32_t *word) {
    hf_cas_release(&hf_sleepers_at(word)->state, 0, HF_UNFENCED);
}

enum class ending { taken, woken, lost };

// Tries for the word once, as waiters do. Lost: it slept until its deadline, although the word was given back all the
// time.
ending announce(contended_word &lock) {
    hf_deadline deadline = in_two_minutes();
    hf_sleeper_comes(&lock.word);
    ending how = ending::taken;
    if (!hf_word_take_or_announce(&lock.word)) {
        int error = hf_futex_wait(&lock.word, HF_WORD_HELD_WITH_SLEEPERS, &deadline);
        how = error == ETIMEDOUT ? ending::lost : ending::woken;
    }
    hf_sleeper_goes(&lock.word);
    return how;
}

TEST(sleepers_stress, NoAnnouncementIsLostToAPlainStore) {
    ASSERT_TRUE(hf_heavy_fence_is_quick()) << "the kernel refuses membarrier";
    contended_word lock;
    std::atomic<bool> over = false;
    std::atomic<unsigned long> plain = 0;
    std::thread owner([&] {
        for (unsigned releases = 1; !over; releases++) {
            if (!hf_word_trylock(&lock.word, HF_WORD_HELD)) {
                std::this_thread::yield();
                continue;
            }
            plain.store(plain + hf_nobody_sleeps(hf_sleepers_at(&lock.word)), std::memory_order_relaxed);
            lock.write_lines(); // and nothing that waits for these stores
            lock.release(releases);
        }
    });
    bool lost = false;
    int announcements = 0;
    auto end = std::chrono::steady_clock::now() + long_enough;
    for (int round = 0; announcements < enough_announcements && !lost; round++) {
        if (std::chrono::steady_clock::now() > end)
            break; // a machine with other work
        make_unfenced(&lock.word);
        // At another point of the owner's round each time.
        unsigned long before = plain;
        for (int polls = 0; plain == before; polls++) {
            lock.write_lines();
            if (polls > 1000)
                std::this_thread::yield(); // it does not run
        }
        for (int pauses = round % 64; pauses > 0; pauses--)
            hf_pause();
        ending how = announce(lock);
        if (how == ending::taken)
            lock.release(1);
        announcements += how != ending::taken;
        lost = how == ending::lost;
    }
    over = true;
    owner.join();
    EXPECT_FALSE(lost);
    EXPECT_GT(announcements, 0);
}

} // namespace
