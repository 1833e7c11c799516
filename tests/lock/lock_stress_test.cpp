// SPDX-License-Identifier: MIT OR Apache-2.0
// Every lock under forced preemption (preempted_team.hpp), FlexGuard also under thousands of forced mode changes a
// second, with sleepers, spinners, timed waiters, tries and plain futex users mixed.
//
// Shown able to fail (docs/verification.md): a thread that has slept takes the word as HELD; release without wake;
// trylock that loads and stores; a thread that has left its CPU to others takes the word as HELD and passes no wake on
// (a lost wake-up), or takes it whatever it is (word.I1).
#include <atomic>
#include <functional>
#include <sched.h>
#include <string_view>
#include <thread>

#include "lock/every_lock.hpp"
#include "lock/flexguard/flexguard_lock.h"
#include "lock/mode_changes.hpp"
#include "lock/preempted_team.hpp"
#include "patience.hpp"

namespace holdfast::test {
namespace {

// The yardsticks have a state or two each, and their waiters either poll or sleep.
int runs_for(std::string_view lock) {
    return lock == "flexguard" || lock == "uscl" ? 40 : 16;
}

class stress : public every_lock {
protected:
    protected_pair pair;

    void touch() { pair.touch(); }
    void run_team(const std::function<void(int)> &once) { preempted_team(runs_for(kind.name)).run(kind.name, once); }
};

TEST_P(stress, ExcludesAndLosesNobodyUnderPreemption) {
    std::atomic<unsigned long> entered = 0;
    run_team([&](int) {
        lock();
        touch();
        unlock();
        entered++;
    });
    EXPECT_EQ(pair.first, entered);
    EXPECT_EQ(pair.second, entered);
}

TEST_P(stress, MixesEveryWayToTakeIt) {
    constexpr unsigned long enough_changes = 1000;
    mode_changes modes;
    std::atomic<unsigned long> entered = 0;
    auto once = [&](int member) {
        bool got = true;
        if (member % 4 == 1)
            got = trylock();
        else if (member % 4 == 2 && kind.clocklock)
            got = clocklock(CLOCK_MONOTONIC, from_now(CLOCK_MONOTONIC, member % 3)) == 0;
        else
            lock();
        if (!got) {
            sched_yield();
            return;
        }
        touch();
        unlock();
        entered++;
    };
    // A machine with other work changes modes less often.
    patience left;
    do {
        run_team(once);
    } while (modes.changes() <= enough_changes && !left.is_over());
    EXPECT_EQ(pair.first, entered);
    EXPECT_GT(modes.changes(), enough_changes);
}

INSTANTIATE_TEST_SUITE_P(lock, stress, all_locks(), lock_name);

// The word's protocol is glibc's: some take it through FlexGuard, some as glibc's condition variables do, whose waiters
// are counted on their behalf (preload/shared_cond.c). Unlocks store plainly whenever they can.
using flexguard_word = stress;
TEST_P(flexguard_word, IsSharedWithPlainFutexUsers) {
    mode_changes modes;
    std::atomic<unsigned long> entered = 0;
    uint32_t word = HF_WORD_FREE;
    hf_queue_tail tail = nullptr;
    hf_release_count releases = 0;
    uint8_t fenced = 0;
    run_team([&](int member) {
        hf_cas_release(&hf_sleepers_at(&word)->state, 0, HF_UNFENCED);
        if (member % 2) {
            hf_sleeper_comes(&word);
            hf_word_lock_blocking(&word, nullptr);
            hf_sleeper_goes(&word);
            touch();
            hf_word_unlock(&word);
        } else {
            hf_flexguard_acquire(&word, &tail, &releases, hf_self(), nullptr);
            touch();
            hf_flexguard_release(&word, &releases, &fenced, hf_self());
        }
        entered++;
    });
    EXPECT_EQ(pair.first, entered);
    EXPECT_EQ(word, HF_WORD_FREE);
    EXPECT_EQ(tail, nullptr);
}

// One record a thread serves all its locks: late hand-overs from one queue reach a thread that waits in another.
TEST_P(flexguard_word, OneRecordServesManyLocks) {
    mode_changes modes;
    struct alignas(64) slot {
        uint32_t word = HF_WORD_FREE;
        hf_queue_tail tail = nullptr;
        hf_release_count releases = 0;
        uint8_t fenced = 0;
        unsigned long value = 0;
    } slots[3];
    std::atomic<unsigned long> entered = 0;
    run_team([&](int) {
        static thread_local unsigned turn = 0;
        slot &mine = slots[turn++ % 3];
        hf_flexguard_acquire(&mine.word, &mine.tail, &mine.releases, hf_self(), nullptr);
        mine.value++;
        hf_flexguard_release(&mine.word, &mine.releases, &mine.fenced, hf_self());
        entered++;
    });
    EXPECT_EQ(slots[0].value + slots[1].value + slots[2].value, entered);
    EXPECT_EQ(hf_self()->critical.critical_depth, 0u);
}

INSTANTIATE_TEST_SUITE_P(lock, flexguard_word, testing::Values(hf_lock_kind_find("flexguard")), lock_name);

} // namespace
} // namespace holdfast::test
