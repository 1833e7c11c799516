// SPDX-License-Identifier: MIT OR Apache-2.0
// What u-SCL promises beyond every lock (lock_test.cpp, lock_stress_test.cpp): options, classes, memory, fork. Nothing
// here depends on how fast the machine is; shares are measured by `holdfast bench scl-fairness` and `scl-proportion`.
//
// Shown able to fail: hf_slices_of that always makes new ones (TakesOver...); sum_up that forgets nobody
// (AThreadThatExitsIsForgotten); start_over that does nothing (AChildStartsOver: hangs until its alarm);
// hf_thread_set_class that does nothing (AClassHasOneShare); trylock that needs a slice (TriesInAnothersSlice);
// set_option that clears nothing, take_options_over without inactive_ms (OptionsDoNot...); hf_uscl_set_inactive that
// takes 0 (RefusesAnInactivity...).
#include <atomic>
#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/clock.h"
#include "holdfast/mutex.hpp"
#include "holdfast/shared_mutex.hpp"
#include "holdfast/uscl.h"
#include "lock/every_lock.hpp"
#include "lock/scl/contended_uscl.hpp"
#include "lock/scl/slices.h"
#include "lock/scl/uscl_lock.h"
#include "posix/threads_and_processes.hpp"

namespace holdfast::test {
namespace {

constexpr unsigned alarm_s = 120;

unsigned count_shares(const hf_uscl_t &lock) {
    unsigned count = 0;
    for (const hf_share *share = lock.slices->shares; share; share = share->next)
        count++;
    return count;
}

TEST(uscl, HasNoSlicesBeforeTwoThreadsMeet) {
    hf_uscl_t lock = HF_USCL_INIT;
    for (int i = 0; i < 10; i++) {
        hf_uscl_lock(&lock);
        hf_uscl_unlock(&lock);
        std::thread([&] {
            hf_uscl_lock(&lock);
            hf_uscl_unlock(&lock);
        }).join();
    }
    EXPECT_EQ(lock.slices, nullptr);
    contend(lock);
    EXPECT_NE(lock.slices, nullptr);
    hf_uscl_destroy(&lock);
    EXPECT_EQ(lock.slices, nullptr);
}

TEST(uscl, RefusesASliceThatIsTooLong) {
    hf_uscl_t lock = HF_USCL_INIT;
    EXPECT_EQ(hf_uscl_set_slice(&lock, 0), 0);
    EXPECT_EQ(hf_uscl_set_slice(&lock, HF_USCL_SLICE_US_MAX), 0);
    EXPECT_EQ(hf_uscl_set_slice(&lock, HF_USCL_SLICE_US_MAX + 1), EINVAL);
    EXPECT_EQ(hf_uscl_set_default_slice(HF_USCL_SLICE_US_MAX + 1), EINVAL);
}

TEST(uscl, RefusesAnInactivityThatIsNoneOrTooLong) {
    hf_uscl_t lock = HF_USCL_INIT;
    EXPECT_EQ(hf_uscl_set_inactive(&lock, 1), 0);
    EXPECT_EQ(hf_uscl_set_inactive(&lock, HF_USCL_INACTIVE_MS_MAX), 0);
    EXPECT_EQ(hf_uscl_set_inactive(&lock, 0), EINVAL);
    EXPECT_EQ(hf_uscl_set_inactive(&lock, HF_USCL_INACTIVE_MS_MAX + 1), EINVAL);
    EXPECT_EQ(hf_uscl_set_inactive(&lock, UINT32_MAX), EINVAL);
}

// Each option at both of its ends beside the others, as who comes to wait takes them over.
TEST(uscl, OptionsDoNotDisturbEachOther) {
    for (std::uint32_t slice_us : {0, int(HF_USCL_SLICE_US_MAX)})
        for (std::uint32_t inactive_ms : {1, int(HF_USCL_INACTIVE_MS_MAX)})
            for (bool work_conserving : {false, true}) {
                hf_uscl_t lock = HF_USCL_INIT;
                hf_uscl_set_work_conserving(&lock, !work_conserving);
                hf_uscl_set_inactive(&lock, inactive_ms == 1 ? HF_USCL_INACTIVE_MS_MAX : 1);
                hf_uscl_set_slice(&lock, slice_us == 0 ? HF_USCL_SLICE_US_MAX : 0);
                hf_uscl_set_slice(&lock, slice_us);
                hf_uscl_set_inactive(&lock, inactive_ms);
                hf_uscl_set_work_conserving(&lock, work_conserving);
                EXPECT_EQ(lock.options & HF_USCL_SLICE_BITS, slice_us + 1);
                contend(lock);
                EXPECT_EQ(lock.slices->inactive_ms, inactive_ms);
                EXPECT_EQ(lock.slices->work_conserving, work_conserving);
                hf_uscl_destroy(&lock);
                EXPECT_EQ(lock.options, 0u);
            }
}

TEST(uscl, TriesInAnothersSlice) {
    hf_uscl_t lock = HF_USCL_INIT;
    hf_uscl_set_slice(&lock, HF_USCL_SLICE_US_MAX);
    contend(lock);
    for (int i = 0; i < 20; i++) {
        hf_uscl_lock(&lock);
        hf_uscl_unlock(&lock); // the slice goes on
        std::thread([&] {
            EXPECT_TRUE(hf_uscl_trylock(&lock)) << "it is free";
            hf_uscl_unlock(&lock);
            // At its deadline a timed lock takes what is free, too.
            EXPECT_EQ(hf_uscl_clocklock(&lock, CLOCK_REALTIME, std::make_unique<timespec>().get()), 0);
            hf_uscl_unlock(&lock);
        }).join();
    }
    hf_uscl_destroy(&lock);
}

// The threads do something together with and without each slice and option, changed while they run.
TEST(uscl, CountsUnderEverySliceAndOption) {
    for (std::uint32_t slice_us : {0, 1, 50, 2000}) {
        for (bool work_conserving : {false, true}) {
            hf_uscl_t lock = HF_USCL_INIT;
            hf_uscl_set_work_conserving(&lock, work_conserving);
            hf_uscl_set_slice(&lock, slice_us);
            unsigned long count = 0;
            constexpr int threads = 4, rounds = 2000;
            std::vector<std::thread> team;
            for (int i = 0; i < threads; i++)
                team.emplace_back([&, i] {
                    hf_uscl_set_class(i % 2 ? 7 : 0);
                    for (int round = 0; round < rounds; round++) {
                        hf_uscl_lock(&lock);
                        count++;
                        if (i == 0 && round % 64 == 0)
                            hf_uscl_set_slice(&lock, slice_us);
                        hf_uscl_unlock(&lock);
                    }
                });
            for (auto &thread : team)
                thread.join();
            EXPECT_EQ(count, threads * rounds);
            hf_uscl_destroy(&lock);
        }
    }
}

TEST(uscl, AClassHasOneShare) {
    hf_uscl_t lock = HF_USCL_INIT;
    contend(lock);
    std::vector<std::thread> team;
    for (int i = 0; i < 6; i++)
        team.emplace_back([&] {
            hf_uscl_set_class(3);
            hf_uscl_trylock(&lock) ? hf_uscl_unlock(&lock) : void();
            hf_uscl_lock(&lock);
            hf_uscl_unlock(&lock);
        });
    for (auto &thread : team)
        thread.join();
    unsigned in_class = 0;
    for (const hf_share *share = lock.slices->shares; share; share = share->next)
        in_class += share->own_class == (3u << 1 | HF_CLASS_IS_MADE);
    EXPECT_EQ(in_class, 1u);
    hf_uscl_destroy(&lock);
}

TEST(uscl, AThreadThatExitsIsForgotten) {
    hf_uscl_t lock = HF_USCL_INIT;
    hf_uscl_set_slice(&lock, 0);
    contend(lock);
    for (int i = 0; i < 2000; i++)
        std::thread([&] {
            hf_uscl_lock(&lock);
            hf_uscl_unlock(&lock);
        }).join();
    hf_uscl_lock(&lock);
    hf_uscl_unlock(&lock);
    EXPECT_LE(count_shares(lock), 3u);
    hf_uscl_destroy(&lock);
}

// The rest of each one's slice would take minutes together. Shown able to fail: no function at thread exit, with
// hf_slices_choose not asking whether the owner is dead (hangs until its alarm).
TEST(uscl, ASliceOfAThreadThatExitsIsOver) {
    child_process child([] {
        hf_uscl_t lock = HF_USCL_INIT;
        hf_uscl_set_slice(&lock, HF_USCL_SLICE_US_MAX);
        contend(lock);
        for (int i = 0; i < 3000; i++)
            std::thread([&] {
                hf_uscl_lock(&lock);
                hf_uscl_unlock(&lock);
            }).join();
        return true;
    });
    EXPECT_TRUE(child.succeeds());
}

// A thread has the slices of two locks, at each of which another thread comes to wait, and then waits at the last one.
// Its slices are over: else the waits take minutes together, and the alarm ends them.
template <typename Lock>
bool slices_of_a_waiter_are_over(Lock &other) {
    constexpr int rounds = 700;
    hf_uscl_t locks[2] = {HF_USCL_INIT, HF_USCL_INIT};
    for (hf_uscl_t &lock : locks) {
        hf_uscl_set_slice(&lock, HF_USCL_SLICE_US_MAX);
        contend(lock);
    }
    for (int round = 0; round < rounds; round++) {
        std::atomic<bool> has_slices = false, waits = false;
        std::atomic<int> done = 0;
        other.lock();
        std::thread owner([&] {
            for (hf_uscl_t &lock : locks) {
                hf_uscl_lock(&lock);
                hf_uscl_unlock(&lock);
            }
            has_slices = true;
            while (!waits)
                std::this_thread::yield();
            other.lock();
            other.unlock();
        });
        while (!has_slices)
            std::this_thread::yield();
        std::thread waiters[2];
        for (int i = 0; i < 2; i++) {
            waiters[i] = std::thread([&, i] {
                hf_uscl_lock(&locks[i]);
                hf_uscl_unlock(&locks[i]);
                done++;
            });
            while (hf_load_relaxed(&locks[i].slices->waiters) == 0 && done <= i)
                std::this_thread::yield();
        }
        waits = true;
        for (std::thread &waiter : waiters)
            waiter.join(); // while the owner still waits
        other.unlock();
        owner.join();
    }
    return true;
}

// Shown able to fail: hf_thread_falls_asleep that does not leave slices; leave_all that leaves the last one alone.
TEST(uscl, SlicesOfAThreadThatWaitsAtAnotherLockAreOver) {
    child_process child([] {
        uscl_mutex other;
        contend(*other.native_handle());
        return slices_of_a_waiter_are_over(other);
    });
    EXPECT_TRUE(child.succeeds());
}

TEST(uscl, SlicesOfAThreadThatWaitsAtALockOfAnotherKindAreOver) {
    child_process child([] {
        holdfast::mutex other;
        return slices_of_a_waiter_are_over(other);
    });
    EXPECT_TRUE(child.succeeds());
}

TEST(uscl, SlicesOfAThreadThatWaitsToWriteAreOver) {
    child_process child([] {
        rwscl_shared_mutex other;
        return slices_of_a_waiter_are_over(other);
    });
    EXPECT_TRUE(child.succeeds());
}

// The calling thread has the slice, and its next section is not timed. It is the only one that uses the lock.
void leave_next_untimed(hf_uscl_t &lock) {
    hf_uscl_lock(&lock);
    hf_uscl_unlock(&lock);
    ASSERT_EQ(lock.slices->untimed, 0u);
    lock.slices->untimed = 1;
}

// uscl.U7. It held the lock for most of a second in place of a millisecond, and it is known who had it. Shown able to
// fail: hf_uscl_end_section that does not ask whether the slice is still the holder's.
TEST(uscl, AnUntimedSectionCountsFromWhenItsSliceWasTaken) {
    hf_uscl_t lock = HF_USCL_INIT;
    contend(lock);
    leave_next_untimed(lock);
    hf_uscl_lock(&lock);
    hf_share *own = lock.slices->untimed_holder;
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(lock.slices->holder, nullptr);
    std::uint64_t held = hf_load_relaxed(&own->held);
    std::thread waiter([&] {
        hf_uscl_lock(&lock);
        hf_uscl_unlock(&lock);
    });
    while (hf_load_relaxed(&lock.slices->owner) == own)
        std::this_thread::yield();
    std::uint64_t since = hf_ticks(), least = static_cast<std::uint64_t>(20e6 / hf_tick_ns());
    while (hf_ticks() - since < least)
        std::this_thread::yield();
    hf_uscl_unlock(&lock);
    EXPECT_GE(hf_load_relaxed(&own->held) - held, least);
    EXPECT_EQ(lock.slices->untimed_holder, nullptr);
    waiter.join();
    hf_uscl_destroy(&lock);
}

// It is about to wait for a condition. Shown able to fail: hf_uscl_stand_aside that asks for a timed holder only.
TEST(uscl, AnOwnerThatStandsAsideInAnUntimedSectionLeavesItsSlice) {
    hf_uscl_t lock = HF_USCL_INIT;
    hf_uscl_set_slice(&lock, HF_USCL_SLICE_US_MAX);
    contend(lock);
    leave_next_untimed(lock);
    hf_uscl_lock(&lock);
    hf_share *own = lock.slices->untimed_holder;
    ASSERT_NE(own, nullptr);
    hf_uscl_stand_aside({&lock.word, &lock.slices, &lock.options}, hf_self());
    EXPECT_LE(lock.slices->slice_end, hf_ticks());
    EXPECT_TRUE(own->away);
    EXPECT_EQ(lock.slices->untimed_holder, nullptr);
    hf_uscl_unlock(&lock);
    hf_uscl_destroy(&lock);
}

// After the wait its slice is another one, and all of its sections are known. Shown able to fail: hf_uscl_stand_aside
// that leaves `untimed` as it is.
TEST(uscl, AThreadThatComesBackFromAWaitBeginsASlice) {
    hf_uscl_t lock = HF_USCL_INIT;
    hf_uscl_set_slice(&lock, HF_USCL_SLICE_US_MAX);
    contend(lock);
    leave_next_untimed(lock);
    lock.slices->untimed = HF_TIMING_BLOCK;
    hf_uscl_lock(&lock);
    hf_share *own = lock.slices->untimed_holder;
    ASSERT_NE(own, nullptr);
    hf_uscl_stand_aside({&lock.word, &lock.slices, &lock.options}, hf_self());
    hf_uscl_unlock(&lock);
    hf_uscl_lock(&lock);
    EXPECT_EQ(lock.slices->untimed_holder, nullptr) << "in a slice that is over";
    EXPECT_FALSE(own->away);
    EXPECT_GT(lock.slices->slice_end, hf_ticks());
    hf_uscl_unlock(&lock);
    hf_uscl_destroy(&lock);
}

// Else a thread that a handler stops there stops all others. Shown able to fail: a guard without a mask.
std::atomic<int> signals_seen = 0;

TEST(uscl, NoSignalIsHandledUnderTheGuard) {
    hf_uscl_t lock = HF_USCL_INIT;
    contend(lock);
    struct sigaction counting {};
    counting.sa_handler = [](int) { signals_seen++; };
    sigaction(SIGUSR1, &counting, nullptr);
    sigset_t saved;
    hf_slices_lock(lock.slices, hf_self(), &saved);
    raise(SIGUSR1);
    EXPECT_EQ(signals_seen, 0);
    hf_slices_unlock(lock.slices, hf_self(), &saved);
    EXPECT_EQ(signals_seen, 1);
    signal(SIGUSR1, SIG_DFL);
}

// A handler that interrupts its own thread wherever that is in lock and unlock, and tries the same lock. Shown able to
// fail: hf_slices_are_closed_to that says no (hangs until its alarm).
hf_uscl_t in_handler = HF_USCL_INIT;
std::atomic<long> handled;

TEST(uscl, ASignalHandlerMayTryTheLockThatItsThreadWaitsFor) {
    child_process child([] {
        hf_uscl_set_slice(&in_handler, 0);
        struct sigaction action {};
        action.sa_handler = [](int) {
            if (hf_uscl_trylock(&in_handler))
                hf_uscl_unlock(&in_handler);
            handled++;
        };
        sigaction(SIGUSR1, &action, nullptr);
        contend(in_handler);
        std::atomic<bool> stop = false;
        // Its slices have no length: each lock() goes through the guard.
        std::thread locks([&] {
            while (!stop) {
                hf_uscl_lock(&in_handler);
                hf_uscl_unlock(&in_handler);
            }
        });
        bool done = eventually([&] {
            for (int i = 0; i < 10; i++)
                pthread_kill(locks.native_handle(), SIGUSR1);
            return handled > 2'000;
        });
        stop = true;
        locks.join();
        return done;
    });
    EXPECT_TRUE(child.succeeds());
}

TEST(uscl, TakesOverWhatALockAtItsPlaceHasLeft) {
    alignas(64) hf_uscl_t lock = HF_USCL_INIT;
    contend(lock);
    hf_slices *slices = lock.slices;
    for (int i = 0; i < 20; i++) {
        lock = HF_USCL_INIT; // never destroyed
        contend(lock);
        EXPECT_EQ(lock.slices, slices);
    }
    hf_uscl_destroy(&lock);
    hf_uscl_t other = HF_USCL_INIT;
    contend(other);
    EXPECT_EQ(other.slices, slices) << "what was given back is used again";
    hf_uscl_destroy(&other);
}

// Nested in both orders of slices: a thread that waits for the second lock's slice holds the first one only for so
// long.
TEST(uscl, NestsWithoutADeadlock) {
    hf_uscl_t first = HF_USCL_INIT, second = HF_USCL_INIT;
    constexpr int rounds = 2000;
    unsigned long count = 0;
    std::vector<std::thread> team;
    for (int i = 0; i < 3; i++)
        team.emplace_back([&, i] {
            for (int round = 0; round < rounds; round++) {
                if (i != 0)
                    hf_uscl_lock(&first);
                hf_uscl_lock(&second);
                count++;
                hf_uscl_unlock(&second);
                if (i != 0)
                    hf_uscl_unlock(&first);
            }
        });
    for (auto &thread : team)
        thread.join();
    EXPECT_EQ(count, 3u * rounds);
    hf_uscl_destroy(&first);
    hf_uscl_destroy(&second);
}

// Forked while others hold the lock's slice and wait for it. The child has one thread, and uses the lock after it has
// made it anew, as POSIX asks; and one that it holds itself.
TEST(uscl, AChildStartsOver) {
    hf_uscl_t held = HF_USCL_INIT, busy = HF_USCL_INIT;
    contend(held);
    contend(busy);
    std::atomic<bool> stop = false;
    std::vector<std::thread> team;
    for (int i = 0; i < 2; i++)
        team.emplace_back([&] {
            while (!stop) {
                hf_uscl_lock(&busy);
                hf_uscl_unlock(&busy);
            }
        });
    for (int i = 0; i < 50; i++) {
        hf_uscl_lock(&held);
        hf_uscl_lock(&busy);
        pid_t child = fork();
        if (child == 0) {
            alarm(alarm_s);
            hf_uscl_unlock(&busy);
            hf_uscl_unlock(&held);
            for (int round = 0; round < 100; round++) {
                hf_uscl_lock(&busy);
                hf_uscl_lock(&held);
                hf_uscl_unlock(&held);
                hf_uscl_unlock(&busy);
            }
            _exit(0);
        }
        hf_uscl_unlock(&busy);
        hf_uscl_unlock(&held);
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    stop = true;
    for (auto &thread : team)
        thread.join();
    hf_uscl_destroy(&held);
    hf_uscl_destroy(&busy);
}

} // namespace
} // namespace holdfast::test
