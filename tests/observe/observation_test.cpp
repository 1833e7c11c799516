// SPDX-License-Identifier: MIT OR Apache-2.0
// What is noted of locks, as a reader sees it. Without a monitor: a thread that finds a lock held goes to sleep.
//
// Shown able to fail: with next_look left as it is in hf_note_free (OneInAPeriod…, LocksTakenInTurn…); with a period
// of 1024 (LocksTakenInTurn…); with nothing added to what is pending (WhatIsPending…, AllThatSlept…); with a store for
// the compare-and-swap in entry_of (ThreadsThatRace…); without counting what finds no place (AFullTable…); without
// MADV_WIPEONFORK (AForkedChild…); with the same lock kept
// observed (ALockWhoseRelease…); without the note before ETIMEDOUT in hf_flexguard_wait (AWaitThatGaveUp…); without
// hf_note_wait in hf_spin_wait (Spinlocks…); with a plain store to `slept` (AWaitThatIsTimed…); without the store in
// hf_count_waited_acquisition (AWaitInPlace…); with rows that are not given back (…UntilItExits); with estimates added
// to what is counted, or the bit left to the lock that comes (…CountedIsNotEstimated); with the first hold given up in
// place of the least (ALockThatIsHeldLeast…); with rows taken whosever they are (WithoutARow…); without note_held in
// begin_slice (AccountsOfUscl…); with the table's locks without their object, the word published as what is held
// (ALockOfAnObject…); with a reader's wait noted at the state, a writer's not at all (ALockThatSharesTime…); without
// hf_wait_marks_hold in sleep_on_word (AHoldThatOthers…); without it in await_claim, or hf_wait_keeps_mark, or with no
// mark taken by an owner that hands the lock over (AHoldThatEndsByAClaim…, the last AMarkDoesNotReach…, too); with the
// hold of a claimant timed from when it awakes (AHoldThatIsHandedOver…); with the mark left once, before the first of a
// blocking lock's sleeps (ASleeperMarks…).
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <numeric>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "holdfast/flexguard.h"
#include "holdfast/uscl.h"
#include "lock/posix/spin_word.h"
#include "lock/scl/contended_uscl.hpp"
#include "lock/scl/rwscl_table.h"
#include "lock/wait/next_step.h"
#include "monitor/client/statistics_reader.hpp"
#include "observe/creation_sites.h"
#include "observe/observation.h"
#include "observe/rule_matches.h"
#include "observe/thread_holds.h"
#include "park/word_lock.h"
#include "posix/threads_and_processes.hpp"
#include "thread/left_wait.h"

namespace holdfast {
namespace {

int new_memory(off_t bytes = static_cast<off_t>(HF_STATISTICS_BYTES), int seals = F_SEAL_SHRINK) {
    hf_statistics_header header{};
    header.version = HF_STATISTICS_VERSION;
    int fd = memfd_create("statistics", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(fd, bytes), 0);
    EXPECT_EQ(pwrite(fd, &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

// Noting begins once in a process, and before it has threads.
const statistics_reader &own_statistics() {
    static statistics_reader reader = [] {
        int fd = new_memory();
        setenv(HF_CREATION_SITES_VARIABLE, "1", 1);
        EXPECT_TRUE(hf_statistics_begin(fd));
        auto own = statistics_reader::of(fd);
        close(fd);
        return std::move(*own);
    }();
    return reader;
}

// At an address that no other test uses: entries are by address.
hf_flexguard_t &new_lock() {
    static hf_flexguard_t locks[64];
    static std::size_t used = 0;
    return locks[used++ % std::size(locks)];
}

lock_snapshot noted_of(const void *lock, const statistics_reader &reader = own_statistics()) {
    for (const lock_snapshot &each : reader.read().locks)
        if (each.address == reinterpret_cast<std::uintptr_t>(lock))
            return each;
    return {};
}

std::uint64_t total(const duration_counts &counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// From now on the calling thread notes the acquisition after so many others, which stands for `gap`.
void note_after(uint32_t others, uint16_t gap) {
    hf_thread_record *self = hf_self();
    hf_private(self)->acquisitions.gap = gap;
    hf_private(self)->acquisitions.next = static_cast<uint32_t>(hf_counters(self)->acquisitions) + others + 1;
    hf_look_up_after(self, HF_LOOKS_APART);
}

// In one that begins to count as one with a new record does.
void in_a_thread(const std::function<void()> &body) {
    std::thread([&body] {
        hf_private(hf_self())->acquisitions = {};
        hf_private(hf_self())->spins = {};
        note_after(0, 1);
        body();
    }).join();
}

// Exits with what the body says; a gtest failure in a child would not be seen.
bool in_child(pid_t pid, const std::function<bool()> &body) {
    if (pid == 0)
        _exit(body() ? 0 : 1);
    int status = -1;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void use(hf_flexguard_t &lock, int times) {
    for (int i = 0; i < times; i++) {
        hf_flexguard_lock(&lock);
        hf_flexguard_unlock(&lock);
    }
}

void use_for_a_period(hf_flexguard_t &lock) {
    in_a_thread([&lock] { use(lock, HF_NOTED_PERIOD); });
}

class observation : public testing::Test {
protected:
    void SetUp() override { own_statistics(); }
};

// Each that is noted stands for those since the one before, so the last gap alone is missing.
void expect_nearly(std::uint64_t noted, std::uint64_t done) {
    EXPECT_LE(noted, done);
    EXPECT_GT(noted + 2 * HF_NOTED_PERIOD, done);
}

TEST_F(observation, OneOfManyStandsForAll) {
    hf_flexguard_t &lock = new_lock();
    constexpr int times = 100 * HF_NOTED_PERIOD;
    in_a_thread([&] { use(lock, times); });
    lock_snapshot seen = noted_of(&lock);
    EXPECT_EQ(seen.kind, HF_STATISTICS_MUTEX);
    expect_nearly(seen.uncontended, times);
    EXPECT_EQ(total(seen.holds), seen.uncontended);
    EXPECT_EQ(seen.contended, 0u);
    EXPECT_GE(seen.longest_hold_ns * times, seen.held_ns);
    EXPECT_GT(seen.held_variance_ns2, 0);
    EXPECT_NE(seen.longest_holder, 0u);
}

TEST_F(observation, AWaitInPlaceOfTheOneToBeNotedPutsThatOff) {
    hf_flexguard_t &lock = new_lock();
    in_a_thread([&] {
        hf_count_waited_acquisition(hf_self());
        EXPECT_EQ(noted_of(&lock).uncontended, 0u);
        use(lock, HF_NOTED_PERIOD);
    });
    EXPECT_GT(noted_of(&lock).uncontended, 0u);
    expect_nearly(noted_of(&lock).uncontended, HF_NOTED_PERIOD);
}

TEST_F(observation, ThreadsThatDoNotLiveForAPeriodAreSeen) {
    hf_flexguard_t &lock = new_lock();
    constexpr int uses_of_each = 100, threads = 8 * HF_NOTED_PERIOD / uses_of_each;
    for (int i = 0; i < threads; i++) // one after the other has the same record
        std::thread([&lock] { use(lock, uses_of_each); }).join();
    EXPECT_GT(noted_of(&lock).uncontended + 2 * HF_NOTED_PERIOD, static_cast<std::uint64_t>(threads * uses_of_each));
}

TEST_F(observation, LocksTakenInTurnAreSeenAlike) {
    hf_flexguard_t *lock[2] = {&new_lock(), &new_lock()};
    constexpr int rounds = 200 * HF_NOTED_PERIOD;
    in_a_thread([&] {
        for (int i = 0; i < rounds; i++) {
            use(*lock[0], 1);
            use(*lock[1], 1);
        }
    });
    for (auto *each : lock)
        EXPECT_NEAR(static_cast<double>(noted_of(each).uncontended), rounds, rounds * 0.4);
}

TEST_F(observation, WhereALockWasMadeIsSaidWhenItIsNoted) {
    hf_flexguard_t &lock = new_lock();
    const char made_here = 0, made_anew_here = 0;
    hf_note_creation(&lock, &made_here);
    EXPECT_EQ(noted_of(&lock).address, 0u) << "not before it is used";
    use_for_a_period(lock);
    EXPECT_EQ(noted_of(&lock).creation_site, reinterpret_cast<std::uintptr_t>(&made_here));
    hf_note_creation(&lock, &made_anew_here);
    EXPECT_EQ(noted_of(&lock).creation_site, reinterpret_cast<std::uintptr_t>(&made_anew_here));
    hf_flexguard_t &other = new_lock();
    use_for_a_period(other);
    EXPECT_EQ(noted_of(&other).creation_site, 0u);
}

TEST_F(observation, ThreadsCountersAreExact) {
    thread_sums before = own_statistics().read_threads();
    hf_flexguard_t &lock = new_lock();
    for (int i = 0; i < 3; i++)
        std::thread([&] { use(lock, 777); }).join();
    EXPECT_EQ(own_statistics().read_threads().acquisitions - before.acquisitions, 3u * 777);
}

std::uint64_t taken(hf_counted_step step) {
    return own_statistics().read_threads().steps[step];
}

TEST_F(observation, StepsOfWaitersAreCountedByWhatTheyAreFor) {
    std::uint64_t yielded = taken(HF_COUNTED_YIELDED), slept = taken(HF_COUNTED_SLEPT),
                  designated = taken(HF_COUNTED_DESIGNATED);
    std::uint32_t word = 0;
    hf_wait wait = hf_wait_begin(hf_self(), &word);
    hf_wait_state state{};
    state.sleep_ns = 1;
    state.place = HF_AT_SLEEP_END;
    hf_wait_timed_sleep(&wait, &state);
    hf_wait_timed_sleep(&wait, &state);
    state.place = HF_AT_DESIGNATED_SLEEP_END;
    hf_wait_timed_sleep(&wait, &state);
    hf_wait_yield();
    EXPECT_EQ(taken(HF_COUNTED_SLEPT) - slept, 2u);
    EXPECT_EQ(taken(HF_COUNTED_DESIGNATED) - designated, 1u);
    EXPECT_EQ(taken(HF_COUNTED_YIELDED) - yielded, 1u);
}

TEST_F(observation, TurnsThatEndAreCounted) {
    std::uint64_t before = taken(HF_COUNTED_TURN_ENDED);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i <= std::thread::hardware_concurrency();
         i++) // without a monitor that is when others want CPUs
        threads.emplace_back([before] {
            hf_flexguard_t own = HF_FLEXGUARD_INIT;
            while (taken(HF_COUNTED_TURN_ENDED) == before)
                use(own, 10 * HF_LOOKS_APART);
        });
    for (auto &thread : threads)
        thread.join();
    EXPECT_GT(taken(HF_COUNTED_TURN_ENDED), before);
}

TEST_F(observation, AllThatSleptAreCounted) {
    constexpr std::uint64_t sleepers = 6;
    hf_flexguard_t &lock = new_lock();
    std::uint64_t blocked_before = own_statistics().read_threads().blocked;
    std::vector<std::thread> threads;
    hf_flexguard_lock(&lock);
    for (std::uint64_t i = 0; i < sleepers; i++)
        threads.emplace_back([&] { use(lock, 1); });
    while (own_statistics().read_threads().blocked < blocked_before + sleepers)
        usleep(1000);
    hf_flexguard_unlock(&lock);
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(noted_of(&lock).contended, sleepers);
}

constexpr std::uint64_t long_ticks = 1u << 24; // a thread keeps nothing back for so long

TEST_F(observation, AWaitThatSleptIsTimed) {
    hf_flexguard_t &lock = new_lock();
    std::uint64_t blocked_before = own_statistics().read_threads().blocked;
    hf_flexguard_lock(&lock);
    std::uint64_t began_ns = hf_monotonic_ns();
    std::thread sleeper([&] { use(lock, 1); });
    while (own_statistics().read_threads().blocked == blocked_before)
        usleep(1000);
    usleep(200'000);
    lock_snapshot while_it_waits = noted_of(&lock);
    EXPECT_EQ(while_it_waits.waiting_now, 1u);
    EXPECT_GE(while_it_waits.waiting_ns, 1e8);
    EXPECT_LE(while_it_waits.waiting_ns, static_cast<double>(hf_monotonic_ns() - began_ns) + 1e6);
    EXPECT_EQ(while_it_waits.waited_ns, 0);
    hf_flexguard_unlock(&lock);
    sleeper.join();
    lock_snapshot seen = noted_of(&lock);
    EXPECT_EQ(seen.contended, 1u);
    EXPECT_EQ(seen.slept, 1u);
    EXPECT_EQ(seen.waiting_now, 0u);
    EXPECT_EQ(seen.waiting_ns, 0);
    EXPECT_GE(seen.sleeps, 1u);
    EXPECT_EQ(total(seen.waits), 1u);
    EXPECT_GE(seen.waited_ns, 2e8);
    EXPECT_GE(seen.waited_ns, seen.asleep_ns);
    EXPECT_GE(seen.asleep_ns, 1.5e8);
    EXPECT_DOUBLE_EQ(seen.longest_wait_ns, seen.waited_ns);
}

// Of a thread whose acquisitions are noted seldom: it is the sleeper that makes this one known.
TEST_F(observation, AHoldThatOthersSleptForIsTimed) {
    hf_flexguard_t &lock = new_lock();
    constexpr std::uint64_t rounds = 10;
    for (bool observed : {false, true}) {
        lock_snapshot before = noted_of(&lock);
        std::uint64_t wanted_ns = 0, held_ns = 0;
        for (std::uint64_t i = 0; i < rounds; i++) {
            std::uint64_t blocked_before = own_statistics().read_threads().blocked;
            note_after(observed ? 0 : 1000, 1000);
            std::uint64_t began_ns = hf_monotonic_ns();
            hf_flexguard_lock(&lock);
            EXPECT_EQ(hf_observes(hf_self()), observed);
            std::atomic<pid_t> tid = 0;
            std::thread sleeper([&] {
                tid = gettid();
                use(lock, 1);
            });
            while (own_statistics().read_threads().blocked == blocked_before || !holdfast::test::is_asleep(tid))
                usleep(1000);
            std::uint64_t wanted_since_ns = hf_monotonic_ns();
            usleep(20'000);
            wanted_ns += hf_monotonic_ns() - wanted_since_ns;
            hf_flexguard_unlock(&lock);
            sleeper.join();
            held_ns += hf_monotonic_ns() - began_ns;
        }
        lock_snapshot after = noted_of(&lock);
        EXPECT_GE(after.held_ns - before.held_ns, 0.9 * static_cast<double>(wanted_ns));
        EXPECT_LE(after.held_ns - before.held_ns, 1.01 * static_cast<double>(held_ns));
        EXPECT_GE(total(after.holds) - total(before.holds), rounds);
        EXPECT_LE(total(after.holds) - total(before.holds), 2 * rounds);
        EXPECT_EQ(after.held_variance_ns2, 0);
    }
}

TEST_F(observation, AMarkIsGoneWhenWhoLeftItAwakes) {
    hf_flexguard_t &lock = new_lock();
    in_a_thread([&] {
        hf_wait wait = hf_wait_begin(hf_self(), &lock);
        hf_wait_falls_asleep(&wait);
        hf_wait_marks_hold(&wait);
        EXPECT_NE(wait.mark, 0u);
        hf_wait_awakes(&wait);
        EXPECT_EQ(wait.mark, 0u);
        usleep(20'000);
        EXPECT_EQ(hf_hold_ends(&lock, hf_self(), true).marked_ticks, 0u);
    });
    EXPECT_EQ(total(noted_of(&lock).holds), 0u);
}

// Of a lock whose waiters do nothing but sleep, after a release that woke one while another thread was faster.
TEST_F(observation, ASleeperMarksEachHoldThatItSleepsFor) {
    std::uint32_t &word = new_lock().word;
    std::uint64_t blocked_before = own_statistics().read_threads().blocked;
    ASSERT_TRUE(hf_word_trylock(&word, HF_WORD_HELD));
    std::atomic<pid_t> tid = 0;
    std::uint32_t sleeps = 0;
    std::thread sleeper([&] {
        tid = gettid();
        hf_wait wait = hf_wait_begin(hf_self(), &word);
        EXPECT_EQ(hf_word_lock_or_leave(&word, hf_self(), 0, nullptr, &wait), 0);
        sleeps = wait.sleeps;
        hf_word_unlock(&word);
    });
    auto sleeps_again = [&](std::uint64_t times) {
        while (own_statistics().read_threads().blocked != blocked_before + times || !holdfast::test::is_asleep(tid))
            usleep(1000);
    };
    sleeps_again(1);
    EXPECT_NE(hf_hold_ends(&word, hf_self(), true).marked_ticks, 0u);
    hf_word_wake(&word);
    sleeps_again(2);
    EXPECT_NE(hf_hold_ends(&word, hf_self(), true).marked_ticks, 0u);
    hf_word_unlock(&word);
    sleeper.join();
    EXPECT_EQ(sleeps, 2u);
}

// A thread that takes a lock again and again, and claims it when that takes long.
struct claimant {
    explicit claimant(hf_flexguard_t &lock)
        : thread([this, &lock] {
              for (tid = gettid(); !ends;)
                  use(lock, 1);
          }) {}

    std::atomic<pid_t> tid = 0;
    std::atomic<bool> ends = false;
    std::thread thread;
};

// The calling thread holds the lock section by section, and is observed in none, until another one has claimed it and
// sleeps. Since when it has held it, in ns.
std::uint64_t hold_until_claimed(hf_flexguard_t &lock, const claimant &other) {
    for (;;) {
        note_after(1000, 1000);
        hf_flexguard_lock(&lock);
        std::uint64_t since_ns = hf_monotonic_ns();
        usleep(1000);
        if (hf_claims_stand(&lock.word)) {
            while (!holdfast::test::is_asleep(other.tid))
                usleep(1000);
            return since_ns;
        }
        hf_flexguard_unlock(&lock);
    }
}

constexpr std::uint64_t ms_ns = 1'000'000;

// Returns when `since_ns` is 150 ms ago and twice as long as any hold before, which the machine may have made long.
void await_longest_hold(const hf_flexguard_t &lock, std::uint64_t since_ns) {
    do
        usleep(150'000);
    while (static_cast<double>(hf_monotonic_ns() - since_ns) < 2 * noted_of(&lock).longest_hold_ns);
}

// Its owner is not known, and nobody sleeps on the word.
TEST_F(observation, AHoldThatEndsByAClaimIsTimed) {
    hf_flexguard_t &lock = new_lock();
    claimant other(lock);
    std::uint64_t since_ns = hold_until_claimed(lock, other), wanted_since_ns = hf_monotonic_ns();
    await_longest_hold(lock, wanted_since_ns); // the claimant awakes meanwhile, looks, and sleeps again
    other.ends = true;
    std::uint64_t released_ns = hf_monotonic_ns();
    hf_flexguard_unlock(&lock);
    std::uint64_t held_ns = hf_monotonic_ns() - since_ns;
    other.thread.join();
    std::uint64_t others_hold_ns = hf_monotonic_ns() - released_ns; // at most
    EXPECT_GE(noted_of(&lock).longest_hold_ns, 0.98 * static_cast<double>(released_ns - wanted_since_ns));
    EXPECT_LE(noted_of(&lock).longest_hold_ns, static_cast<double>(std::max(held_ns, others_hold_ns)));
}

// Between that and when it awakes the lock is nobody else's. A handler keeps it asleep, as a busy CPU would.
TEST_F(observation, AHoldThatIsHandedOverBeginsThen) {
    static std::atomic<bool> is_kept, may_go;
    is_kept = may_go = false;
    std::signal(SIGUSR1, [](int) {
        is_kept = true;
        while (!may_go)
            usleep(1000);
    });
    hf_flexguard_t &lock = new_lock();
    claimant other(lock);
    hold_until_claimed(lock, other);
    pthread_kill(other.thread.native_handle(), SIGUSR1);
    while (!is_kept)
        usleep(1000);
    other.ends = true;
    hf_flexguard_unlock(&lock);
    std::uint64_t handed_ns = hf_monotonic_ns();
    await_longest_hold(lock, handed_ns);
    std::uint64_t kept_ns = hf_monotonic_ns() - handed_ns;
    may_go = true;
    other.thread.join();
    EXPECT_GE(noted_of(&lock).longest_hold_ns, 0.98 * static_cast<double>(kept_ns));
    EXPECT_EQ(noted_of(&lock).longest_holder, static_cast<std::uint32_t>(other.tid));
}

// One thread sleeps on the word throughout; the lock is handed over to another one, which is not observed.
TEST_F(observation, AMarkDoesNotReachIntoTheHoldOfAClaimant) {
    hf_flexguard_t &lock = new_lock();
    std::uint64_t first_ns = 0, second_ns = 0;
    in_a_thread([&] {
        hf_thread_record *self = hf_self();
        note_after(1000, 1000);
        hf_flexguard_lock(&lock);
        hf_sleeper_comes(&lock.word);
        hf_claim claim{};
        hf_claim_begin(&claim, &lock.word, 1);
        std::uint64_t since_ns = hf_monotonic_ns();
        hf_wait wait = hf_wait_begin(self, &lock);
        hf_wait_falls_asleep(&wait);
        hf_wait_marks_hold(&wait);
        usleep(60'000);
        hf_flexguard_unlock(&lock);
        first_ns = hf_monotonic_ns() - since_ns;
        EXPECT_TRUE(hf_claim_end(&claim));
        EXPECT_NE(claim.met_ticks, 0u);
        hf_critical_enter(self);
        usleep(60'000);
        hf_flexguard_unlock(&lock);
        second_ns = hf_monotonic_ns() - since_ns - first_ns;
        hf_wait_awakes(&wait);
        hf_sleeper_goes(&lock.word);
    });
    EXPECT_GE(noted_of(&lock).longest_hold_ns, 60.0 * ms_ns * 0.98);
    EXPECT_LE(noted_of(&lock).longest_hold_ns, static_cast<double>(std::max(first_ns, second_ns)) * 1.01);
    EXPECT_LE(noted_of(&lock).held_ns, static_cast<double>(first_ns) * 1.01);
}

TEST_F(observation, WhatIsSeldomIsNotedEachTime) {
    hf_flexguard_t &outer = new_lock(), &inner = new_lock();
    constexpr int times = 30;
    in_a_thread([&] {
        note_after(0, 1);
        for (int i = 0; i < times; i++) {
            hf_flexguard_lock(&outer);
            usleep(1000);
            hf_flexguard_lock(&inner);
            usleep(1000);
            hf_flexguard_unlock(&outer);
            usleep(1000);
            hf_flexguard_unlock(&inner);
        }
    });
    for (auto *lock : {&outer, &inner}) {
        EXPECT_GE(total(noted_of(lock).holds), times * 2u / 3);
        EXPECT_LE(total(noted_of(lock).holds), times * 4u / 3);
        EXPECT_GE(noted_of(lock).held_ns, 2e6 * times * 2 / 3);
    }
}

// As a lock that was got by spinning calls it.
void spin_and_release(const void *lock) {
    hf_wait wait = hf_wait_begin(hf_self(), lock);
    hf_count(hf_self(), contended);
    hf_note_wait(lock, hf_self(), HF_STATISTICS_MUTEX, &wait, true);
    hf_note_release(lock, hf_self(), hf_hold_ends(lock, hf_self(), false));
}

TEST_F(observation, OfThoseThatSpunOneStandsForAll) {
    hf_flexguard_t &first = new_lock();
    in_a_thread([&] {
        for (int i = 0; i < 100'000; i++)
            spin_and_release(&first);
    });
    lock_snapshot seen = noted_of(&first);
    EXPECT_LE(seen.contended, 100'000u);
    EXPECT_GT(seen.contended, 100'000u - 2 * HF_SPINS_NOTED_PERIOD);
    EXPECT_EQ(seen.slept, 0u);
    EXPECT_EQ(total(seen.waits), seen.contended);
    EXPECT_EQ(total(seen.holds), seen.contended);
}

// As a lock that was got after sleep calls it.
void sleep_and_release(const void *lock) {
    hf_wait wait = hf_wait_begin(hf_self(), lock);
    wait.sleeps = 1;
    hf_note_wait(lock, hf_self(), HF_STATISTICS_MUTEX, &wait, true);
}

TEST_F(observation, WhatIsPendingIsCountedToo) {
    hf_flexguard_t &first = new_lock(), &second = new_lock();
    std::atomic<int> slept = 0, seen = 0;
    std::thread thread([&] {
        for (int i = 0; i < 1000; i++)
            sleep_and_release(&first);
        slept = 1;
        while (seen < 1)
            usleep(1000);
        sleep_and_release(&second);
        sleep_and_release(&first);
        slept = 2;
        while (seen < 2)
            usleep(1000);
    });
    while (slept < 1)
        usleep(1000);
    EXPECT_EQ(noted_of(&first).slept, 1000u);
    EXPECT_EQ(noted_of(&first).contended, 1000u);
    seen = 1;
    while (slept < 2)
        usleep(1000);
    EXPECT_EQ(noted_of(&first).slept, 1001u);
    EXPECT_EQ(noted_of(&second).slept, 1u);
    seen = 2;
    thread.join();
}

TEST_F(observation, LockCouplingNotesBothLocks) {
    hf_flexguard_t &outer = new_lock(), &inner = new_lock();
    in_a_thread([&] {
        hf_thread_record *self = hf_self();
        note_after(0, 1);
        hf_flexguard_lock(&outer);
        use(inner, 1);
        EXPECT_EQ(self->observed & ~HF_TURN_LOOK, 1u);
        note_after(0, 1);
        hf_flexguard_lock(&inner);
        EXPECT_EQ(self->observed & ~HF_TURN_LOOK, 3u);
        hf_flexguard_unlock(&outer);
        EXPECT_EQ(self->observed & ~HF_TURN_LOOK, 2u);
        hf_flexguard_unlock(&inner);
        EXPECT_EQ(self->observed & ~HF_TURN_LOOK, 0u);
    });
    EXPECT_GT(total(noted_of(&outer).holds), 0u);
    EXPECT_GT(total(noted_of(&inner).holds), 0u);
}

// What is noted of the calling thread's holds, by lock.
std::map<std::uint64_t, thread_hold> own_holds() {
    std::map<std::uint64_t, thread_hold> found;
    for (const thread_hold &each : own_statistics().read().holds)
        if (each.thread == static_cast<std::uint32_t>(gettid()))
            found[each.lock] = each;
    return found;
}

std::uint64_t address_of(const void *lock) {
    return reinterpret_cast<std::uintptr_t>(lock);
}

TEST_F(observation, AThreadsHoldsAreNotedUntilItExits) {
    hf_flexguard_t &lock = new_lock();
    std::uint32_t whose = 0;
    in_a_thread([&] {
        whose = static_cast<std::uint32_t>(gettid());
        EXPECT_TRUE(own_holds().empty());
        use(lock, 2 * HF_NOTED_PERIOD);
        ASSERT_TRUE(own_holds().contains(address_of(&lock)));
        thread_hold seen = own_holds()[address_of(&lock)];
        EXPECT_DOUBLE_EQ(seen.held_ns, noted_of(&lock).held_ns);
        EXPECT_FALSE(seen.counted);
    });
    for (const thread_hold &each : own_statistics().read().holds)
        EXPECT_NE(each.thread, whose);
}

TEST_F(observation, ALockThatIsHeldLeastGivesItsPlaceUp) {
    in_a_thread([] {
        for (std::uint64_t lock = 1; lock <= HF_STATISTICS_HOLDS; lock++)
            ASSERT_TRUE(hf_thread_holds_add(hf_self(), lock * 16, lock == 3 ? 10 : 1000, HF_HOLD_ESTIMATED));
        ASSERT_TRUE(hf_thread_holds_add(hf_self(), 16 * 100, 5, HF_HOLD_ESTIMATED));
        auto seen = own_holds();
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(HF_STATISTICS_HOLDS));
        EXPECT_FALSE(seen.contains(16 * 3));
        EXPECT_TRUE(seen.contains(16 * 100));
        EXPECT_LT(seen[16 * 100].held_ns, seen[16 * 1].held_ns);
    });
}

TEST_F(observation, WhatIsCountedIsNotEstimated) {
    in_a_thread([] {
        hf_thread_holds_add(hf_self(), 16, 1000, HF_HOLD_COUNTED);
        double counted_ns = own_holds()[16].held_ns;
        EXPECT_TRUE(own_holds()[16].counted);
        hf_thread_holds_add(hf_self(), 16, 1'000'000, HF_HOLD_ESTIMATED);
        EXPECT_EQ(own_holds()[16].held_ns, counted_ns);
        hf_thread_holds_add(hf_self(), 16, 1000, HF_HOLD_COUNTED);
        EXPECT_DOUBLE_EQ(own_holds()[16].held_ns, 2 * counted_ns);
        // The place of a lock that was counted goes to one that is not.
        for (std::uint64_t lock = 2; lock <= HF_STATISTICS_HOLDS + 1; lock++)
            hf_thread_holds_add(hf_self(), lock * 16, 10'000, HF_HOLD_ESTIMATED);
        for (const auto &[lock, each] : own_holds())
            EXPECT_FALSE(each.counted) << lock;
        EXPECT_FALSE(own_holds().contains(16));
    });
}

TEST_F(observation, WithoutARowNothingIsSaid) {
    EXPECT_TRUE(in_child(fork(), [] {
        int fd = new_memory();
        if (!hf_statistics_begin(fd))
            return false;
        for (std::uint32_t level = 0; level < HF_STATISTICS_LEVELS; level++) {
            for (std::uint32_t i = 0; i < hf_statistics_places(level); i++)
                hf_statistics_rows(hf_statistics_level(level), level)[i].tid = 1;
        }
        return !hf_thread_holds_add(hf_self(), 16, 1000, HF_HOLD_ESTIMATED) &&
               statistics_reader::of(fd)->read().holds.empty();
    }));
}

TEST_F(observation, AccountsOfUsclAreCounted) {
    static hf_uscl_t lock = HF_USCL_INIT;
    hf_uscl_set_slice(&lock, 0); // a slice is a section: so the accounts are looked at each time
    test::contend(lock);
    in_a_thread([] {
        std::uint64_t began = hf_ticks(), inside = 0;
        for (int i = 0; i < 100; i++) {
            hf_uscl_lock(&lock);
            std::uint64_t since = hf_ticks();
            while (hf_ticks() - since < 1000)
                continue;
            inside += hf_ticks() - since;
            hf_uscl_unlock(&lock);
        }
        hf_uscl_lock(&lock); // the last section is counted when the next slice begins
        hf_uscl_unlock(&lock);
        double all_ns = static_cast<double>(hf_ticks() - began) * hf_tick_ns();
        ASSERT_TRUE(own_holds().contains(address_of(&lock)));
        thread_hold seen = own_holds()[address_of(&lock)];
        EXPECT_TRUE(seen.counted);
        EXPECT_GE(seen.held_ns, static_cast<double>(inside) * hf_tick_ns() * 0.999);
        EXPECT_LE(seen.held_ns, all_ns);
    });
}

TEST_F(observation, ALockWhoseReleaseWasNotSeenGivesPlaceToItself) {
    hf_flexguard_t &lock = new_lock();
    in_a_thread([&] {
        hf_wait wait = hf_wait_begin(hf_self(), &lock);
        wait.began_ticks -= long_ticks; // so that nothing is kept back
        wait.sleeps = 1;
        std::uint64_t since = 0;
        for (int i = 0; i < 3; i++) {
            hf_note_wait(&lock, hf_self(), HF_STATISTICS_MUTEX, &wait, true);
            EXPECT_EQ(hf_self()->observed, 1u);
            EXPECT_NE(std::exchange(since, hf_observation_at(hf_self(), 0)->since_ticks), since);
        }
        hf_observation_at(hf_self(), 0)->since_ticks -= long_ticks;
        hf_note_release(&lock, hf_self(), hf_hold_ends(&lock, hf_self(), false));
        EXPECT_EQ(hf_self()->observed, 0u);
    });
    EXPECT_EQ(noted_of(&lock).contended, 3u);
    EXPECT_EQ(total(noted_of(&lock).waits), 3u);
    EXPECT_EQ(total(noted_of(&lock).holds), 1u);
}

TEST_F(observation, AWaitThatGaveUpIsNoAcquisition) {
    hf_flexguard_t &lock = new_lock();
    hf_flexguard_lock(&lock);
    in_a_thread([&] {
        timespec past = {};
        EXPECT_EQ(hf_flexguard_clocklock(&lock, CLOCK_MONOTONIC, &past), ETIMEDOUT);
    });
    hf_flexguard_unlock(&lock);
    lock_snapshot seen = noted_of(&lock);
    EXPECT_EQ(seen.gave_up, 1u);
    EXPECT_EQ(seen.contended, 0u);
}

// As others see a lock of RW-SCL, which has a word for writers and a state for readers, and may be of another object.
void expect_one_lock(const void *shown, hf_rwscl_t &lock) {
    auto address = reinterpret_cast<std::uintptr_t>(shown);
    in_a_thread([&] {
        for (int i = 0; i < HF_NOTED_PERIOD; i++) {
            hf_rwscl_write_lock(&lock);
            EXPECT_EQ(hf_self()->critical.lock, address) << "for the monitor";
            hf_rwscl_write_unlock(&lock);
        }
    });
    lock_snapshot seen = noted_of(shown);
    EXPECT_EQ(seen.kind, HF_STATISTICS_READ_WRITE_LOCK);
    expect_nearly(seen.uncontended, HF_NOTED_PERIOD);
    EXPECT_EQ(seen.contended, 0u);
    in_a_thread([&] {
        for (int i = 0; i < HF_NOTED_PERIOD; i++) { // the first one ends the writers' slice, which is a wait
            hf_rwscl_read_lock(&lock);
            hf_rwscl_read_unlock(&lock);
        }
    });
    expect_nearly(noted_of(shown).uncontended, 2u * HF_NOTED_PERIOD);

    // A writer sleeps for the word, a reader for the writers' slice to end.
    auto blocked = [] { return own_statistics().read_threads().blocked; };
    hf_rwscl_write_lock(&lock);
    std::uint64_t slept_before = noted_of(shown).slept, blocked_before = blocked();
    std::thread writer([&] {
        hf_rwscl_write_lock(&lock);
        hf_rwscl_write_unlock(&lock);
    });
    while (blocked() < blocked_before + 1)
        usleep(1000);
    std::thread reader([&] {
        hf_rwscl_read_lock(&lock);
        hf_rwscl_read_unlock(&lock);
    });
    while (blocked() < blocked_before + 2)
        usleep(1000);
    hf_rwscl_write_unlock(&lock);
    writer.join();
    reader.join();
    EXPECT_EQ(noted_of(shown).slept, slept_before + 2);

    // A writer sleeps for the readers to leave, after one that has given up.
    hf_rwscl_read_lock(&lock);
    slept_before = noted_of(shown).slept;
    blocked_before = blocked();
    in_a_thread([&] {
        timespec past = {};
        EXPECT_EQ(hf_rwscl_write_clocklock(&lock, CLOCK_MONOTONIC, &past), ETIMEDOUT);
    });
    EXPECT_EQ(noted_of(shown).gave_up, 1u);
    std::thread front([&] {
        hf_rwscl_write_lock(&lock);
        hf_rwscl_write_unlock(&lock);
    });
    while (blocked() == blocked_before)
        usleep(1000);
    hf_rwscl_read_unlock(&lock);
    front.join();
    EXPECT_EQ(noted_of(shown).slept, slept_before + 1);
    EXPECT_EQ(total(noted_of(shown).holds), 0u) << "as of other reader-writer locks";
    for (const lock_snapshot &each : own_statistics().read().locks)
        EXPECT_FALSE(each.address != address && each.address - reinterpret_cast<std::uintptr_t>(&lock) < sizeof(lock));
}

TEST_F(observation, ALockThatSharesTimeBetweenReadersAndWritersIsOneLock) {
    static hf_rwscl_t lock;
    expect_one_lock(&lock, lock);
}

TEST_F(observation, ALockOfAnObjectIsThatObject) {
    static hf_rwscl_entry *object;
    const hf_rwscl_options options{};
    hf_rwscl_t *lock = hf_rwscl_of(&object, &object, &options);
    ASSERT_NE(lock, nullptr);
    const char made_here = 0;
    hf_note_creation(&object, &made_here);
    expect_one_lock(&object, *lock);
    EXPECT_EQ(noted_of(&object).creation_site, reinterpret_cast<std::uintptr_t>(&made_here));
    hf_rwscl_give_back(&object, &object);
}

TEST_F(observation, SpinlocksNoteTheirWaits) {
    static int word;
    word = HF_SPIN_HELD;
    std::atomic<std::uint64_t> before = UINT64_MAX;
    std::thread waiter([&] {
        // The record may have been another thread's. A wait that sleeps is handed over at once, as what is kept long.
        hf_private(hf_self())->spins = {};
        hf_counters(hf_self())->pending = 0;
        *hf_noted_sums_of(hf_self()) = {};
        hf_noted_sums_of(hf_self())->since_ticks = 1;
        before = own_statistics().read_threads().contended;
        hf_spin_acquire(&word, hf_self());
        hf_spin_release(&word, hf_self());
    });
    while (before == UINT64_MAX || own_statistics().read_threads().contended == before)
        usleep(1000);
    hf_store_release(&word, HF_SPIN_FREE);
    waiter.join();
    lock_snapshot seen = noted_of(&word);
    EXPECT_EQ(seen.kind, HF_STATISTICS_SPINLOCK);
    EXPECT_EQ(seen.contended, 1u);
    EXPECT_EQ(total(seen.waits), 1u);
}

// Each with a lock of its own, for which the search begins at the same place: they want the same place at once.
TEST_F(observation, ThreadsThatRaceForPlacesCountEverything) {
    constexpr std::size_t racers = 3, rounds = 60, times = 5;
    static char arena[1 << 16];
    std::map<std::uint32_t, std::vector<const char *>> at_place;
    for (const char &each : arena)
        at_place[hf_statistics_first_place(reinterpret_cast<std::uintptr_t>(&each), HF_STATISTICS_LEVELS - 1)]
            .push_back(&each);
    std::vector<std::vector<const char *>> locks;
    for (auto &[place, some] : at_place)
        if (some.size() >= racers && place % 16 == 0 && locks.size() < rounds) // apart, for there are few probes
            locks.push_back(some);
    ASSERT_EQ(locks.size(), rounds);
    std::atomic<std::size_t> arrived = 0;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < racers; i++)
        threads.emplace_back([&, i] {
            for (std::size_t round = 0; round < rounds; round++) {
                hf_wait wait = hf_wait_begin(hf_self(), locks[round][i]);
                for (arrived++; arrived < (round + 1) * racers;)
                    std::this_thread::yield();
                for (std::size_t time = 0; time < times; time++)
                    hf_note_wait(locks[round][i], hf_self(), HF_STATISTICS_MUTEX, &wait, false);
            }
        });
    for (auto &thread : threads)
        thread.join();
    process_snapshot all = own_statistics().read();
    std::map<std::uint64_t, std::uint64_t> noted;
    for (const lock_snapshot &each : all.locks)
        noted[each.address] += each.gave_up;
    for (auto &round : locks)
        for (std::size_t i = 0; i < racers; i++)
            EXPECT_EQ(noted[reinterpret_cast<std::uintptr_t>(round[i])], times);
    EXPECT_EQ(noted.size(), all.locks.size()) << "no lock has two entries";
}

TEST_F(observation, AFullTableSaysWhatItCouldNotNote) {
    EXPECT_TRUE(in_child(fork(), [] {
        int fd = new_memory();
        if (hf_statistics_are_on() || !hf_statistics_begin(fd))
            return false;
        std::size_t places = 0;
        for (std::uint32_t level = 0; level < HF_STATISTICS_LEVELS; level++)
            places += hf_statistics_places(level);
        const std::size_t locks = 3 * places;
        auto lock = std::make_unique<char[]>(locks);
        for (std::size_t i = 0; i < locks; i++) {
            hf_wait wait = hf_wait_begin(hf_self(), &lock[i]);
            hf_note_wait(&lock[i], hf_self(), HF_STATISTICS_MUTEX, &wait, false);
        }
        process_snapshot all = statistics_reader::of(fd)->read();
        return all.locks.size() <= places && all.locks.size() > places / 2 &&
               all.locks.size() + all.not_noted == locks && all.threads.short_of_memory == 0;
    }));
}

std::size_t bytes_mapped_of(const char *file) {
    std::ifstream maps("/proc/self/maps");
    std::size_t bytes = 0;
    for (std::string line; std::getline(maps, line);) {
        std::uint64_t from = 0, to = 0;
        if (line.find(file) != std::string::npos && std::sscanf(line.c_str(), "%lx-%lx", &from, &to) == 2)
            bytes += to - from;
    }
    return bytes;
}

void give_up_waits_for(const std::vector<char> &locks) {
    for (const char &each : locks) {
        hf_wait wait = hf_wait_begin(hf_self(), &each);
        hf_note_wait(&each, hf_self(), HF_STATISTICS_MUTEX, &wait, false);
    }
}

// In children that have no memory yet. Shown able to fail: with all levels mapped at once.
TEST_F(observation, OnlyWhatIsUsedIsMapped) {
    EXPECT_TRUE(in_child(fork(), [] {
        std::size_t parents = bytes_mapped_of("memfd:statistics"), first = 256u << 10, all = 3u << 20;
        int fd = new_memory();
        if (!hf_statistics_begin(fd) || bytes_mapped_of("memfd:statistics") - parents > first)
            return false;
        std::vector<char> few(40), many(1000);
        give_up_waits_for(few);
        bool is_small = bytes_mapped_of("memfd:statistics") - parents <= first;
        give_up_waits_for(many);
        process_snapshot seen = statistics_reader::of(fd)->read();
        return is_small && bytes_mapped_of("memfd:statistics") - parents > all &&
               seen.locks.size() == few.size() + many.size() && seen.not_noted == 0;
    }));
}

// Shown able to fail: with hf_statistics_level that maps all the same.
TEST_F(observation, NothingIsMappedAnyMoreWhenThatIsForgone) {
    EXPECT_TRUE(in_child(fork(), [] {
        int fd = new_memory();
        if (!hf_statistics_begin(fd))
            return false;
        hf_statistics_stay_mapped();
        std::size_t before = bytes_mapped_of("memfd:statistics");
        std::vector<char> many(1000);
        give_up_waits_for(many);
        process_snapshot seen = statistics_reader::of(fd)->read();
        return bytes_mapped_of("memfd:statistics") == before && seen.locks.size() == hf_statistics_places(0) &&
               seen.not_noted == many.size() - seen.locks.size() && seen.threads.short_of_memory == 1;
    }));
}

// Uses locks in threads of its own and notes more of them than there are places.
bool uses_statistics_that_are_not_there(int fd) {
    if (!hf_statistics_begin(fd))
        return true; // nothing is noted
    hf_flexguard_t &lock = new_lock();
    for (int i = 0; i < 3; i++)
        use_for_a_period(lock);
    std::vector<char> many(2000);
    give_up_waits_for(many);
    hf_thread_holds_add(hf_self(), 16, 1000, HF_HOLD_ESTIMATED);
    return true;
}

// A page behind the end of the file is refused as one is for which no memory is left: SIGBUS to a thread that stores to
// it. Shown able to fail, by that signal: without hf_memory_is_there before an entry, the names, a row, or counters.
TEST_F(observation, MemoryThatIsNotThereIsNotWrittenTo) {
    const auto whole = static_cast<off_t>(HF_STATISTICS_BYTES);
    const auto level = static_cast<off_t>(hf_statistics_level_at(1));
    const auto counters = static_cast<off_t>(HF_STATISTICS_THREADS_OFFSET);
    for (off_t there : {off_t{0}, off_t{4096}, off_t{8192}, level / 2, level, 2 * level, counters}) {
        EXPECT_TRUE(in_child(fork(), [=] {
            int fd = new_memory();
            int ends_early = open(("/proc/self/fd/" + std::to_string(new_memory(there, 0))).c_str(), O_RDWR);
            std::vector<char> header(static_cast<std::size_t>(there < 4096 ? there : 4096));
            if (pread(fd, header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()) ||
                ftruncate(ends_early, there) != 0 || !uses_statistics_that_are_not_there(ends_early))
                return false;
            if (ftruncate(ends_early, whole) != 0 || fcntl(ends_early, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
                return false;
            auto reader = there > 0 ? statistics_reader::of(ends_early) : std::nullopt;
            return !reader || reader->read_threads().short_of_memory == 1;
        })) << there;
    }
}

// The same with a file system that is full: the kernel has promised nothing.
TEST_F(observation, AFullFileSystemEndsNobody) {
    EXPECT_TRUE(in_child(fork(), [&] {
        if (unshare(getuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0 ||
            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("small", "/tmp", "tmpfs", 0, "size=160k") != 0)
            return true; // where that is not allowed, the test before has to do
        int fd = open("/tmp/statistics", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        hf_statistics_header header{}, told{};
        header.version = HF_STATISTICS_VERSION;
        return ftruncate(fd, static_cast<off_t>(HF_STATISTICS_BYTES)) == 0 &&
               pwrite(fd, &header, sizeof(header), 0) == sizeof(header) && uses_statistics_that_are_not_there(fd) &&
               pread(fd, &told, sizeof(told), 0) == sizeof(told) && told.refused == 1 && told.not_noted > 0;
    }));
}

// A look takes no memory: shown able to fail with a reader that maps what it reads.
TEST_F(observation, ReadingWritesNothing) {
    int fd = new_memory();
    hf_statistics_header header{};
    header.version = HF_STATISTICS_VERSION;
    header.levels = 100; // a process may say anything
    header.counters.slabs = 100;
    ASSERT_EQ(pwrite(fd, &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
    struct stat before {
    }, after{};
    ASSERT_EQ(fstat(fd, &before), 0);
    EXPECT_TRUE(statistics_reader::of(fd)->read().locks.empty());
    ASSERT_EQ(fstat(fd, &after), 0);
    EXPECT_EQ(after.st_blocks, before.st_blocks);
    close(fd);
}

// `_Fork` runs no handlers: what makes the child forget is the kernel.
TEST_F(observation, AForkedChildNotesNothingOfItsParents) {
    hf_flexguard_t &lock = new_lock();
    auto body = [&] {
        use(lock, 5 * HF_NOTED_PERIOD);
        hf_wait wait{};
        wait.self = hf_self();
        wait.lock = &lock;
        wait.began_ticks = 1;
        wait.sleeps = 1;
        hf_note_wait(&lock, hf_self(), HF_STATISTICS_MUTEX, &wait, true);
        return !hf_statistics_are_on() && !hf_self()->observed;
    };
    hf_self();
    thread_sums before = own_statistics().read_threads();
    EXPECT_TRUE(in_child(fork(), body));
    EXPECT_EQ(own_statistics().read_threads().acquisitions, before.acquisitions);
    EXPECT_TRUE(in_child(_Fork(), body));
    EXPECT_EQ(noted_of(&lock).address, 0u);
}

std::uint64_t matches_of(int fd, const std::string &rule) {
    auto rules = statistics_reader::of(fd)->read_rules();
    auto found = std::ranges::find(rules, rule, &rule_matches::name);
    return found == rules.end() ? UINT64_MAX : found->matched;
}

// In a child, which has no memory for statistics yet. Shown able to fail: without hf_rule_matches_begin; with what was
// kept left there (a child of the child begins with it again).
TEST_F(observation, WhatRulesMatchIsToldAlsoOfBeforeThereWasMemory) {
    EXPECT_TRUE(in_child(fork(), [] {
        hf_note_rule(0, "mutex@early");
        hf_note_rule_match(0);
        hf_note_rule_match(0);
        int fd = new_memory(), of_child = new_memory();
        if (hf_statistics_are_on() || !hf_statistics_begin(fd) || matches_of(fd, "mutex@early") != 2)
            return false;
        hf_note_rule(14, "rwlock@late");
        hf_note_rule_match(14);
        hf_note_rule_match(0);
        bool child_has_its_own = in_child(fork(), [&] {
            hf_note_rule_match(14);
            return hf_statistics_begin(of_child) && matches_of(of_child, "mutex@early") == 0 &&
                   matches_of(of_child, "rwlock@late") == 1;
        });
        return child_has_its_own && matches_of(fd, "mutex@early") == 3 && matches_of(fd, "rwlock@late") == 1 &&
               statistics_reader::of(fd)->read_rules().size() == 2;
    }));
}

TEST_F(observation, ARulesNameThatDoesNotEndIsCut) {
    int fd = new_memory();
    std::string endless(2 * HF_STATISTICS_RULE_BYTES, 'x');
    EXPECT_EQ(pwrite(fd, endless.data(), endless.size(), offsetof(hf_statistics_header, rules)),
              static_cast<ssize_t>(endless.size()));
    auto rules = statistics_reader::of(fd)->read_rules();
    close(fd);
    ASSERT_FALSE(rules.empty());
    EXPECT_EQ(rules[0].name, endless.substr(0, HF_STATISTICS_RULE_BYTES - 1));
}

TEST(statistics_memory, BucketsAreInOrderAndAQuarterWide) {
    for (std::uint32_t i = 0; i < HF_HISTOGRAM_BUCKETS; i++) {
        std::uint64_t from = hf_histogram_from_ticks(i);
        EXPECT_EQ(hf_histogram_bucket(from), i);
        EXPECT_TRUE(i == 0 || hf_histogram_bucket(from - 1) == i - 1);
        EXPECT_TRUE(i < 4 || hf_histogram_from_ticks(i + 1) - from <= from / 4);
    }
    EXPECT_EQ(hf_histogram_bucket(UINT64_MAX), HF_HISTOGRAM_BUCKETS - 1u);
}

TEST(statistics_memory, OfAnotherVersionOrSizeIsNotRead) {
    int fd = new_memory();
    EXPECT_TRUE(statistics_reader::of(fd));
    std::uint32_t other = HF_STATISTICS_VERSION + 1;
    EXPECT_EQ(pwrite(fd, &other, sizeof(other), 0), static_cast<ssize_t>(sizeof(other)));
    EXPECT_FALSE(statistics_reader::of(fd));
    EXPECT_TRUE(in_child(fork(), [fd] { return !hf_statistics_begin(fd) && !hf_statistics_are_on(); }));
    close(fd);
    int smaller = new_memory(4096);
    EXPECT_FALSE(statistics_reader::of(smaller));
    close(smaller);
}

// Shown able to fail: without F_GET_SEALS in statistics_reader::of.
TEST(statistics_memory, ThatMayShrinkIsNotRead) {
    int fd = new_memory(static_cast<off_t>(HF_STATISTICS_BYTES), F_SEAL_GROW);
    EXPECT_FALSE(statistics_reader::of(fd));
    close(fd);
}

} // namespace
} // namespace holdfast
