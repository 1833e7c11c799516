// SPDX-License-Identifier: MIT OR Apache-2.0
// What RW-SCL promises, one thing at a time (many at once: rwscl_stress_test.cpp). Nothing here depends on how fast the
// machine is.
//
// Shown able to fail: gates that are not closed (TimesOutUnderAWriter); a drain given up that forgets who is inside
// (AWriterThatGivesUpLetsReadersIn); a timekeeper that is not replaced (AKeeperThatGivesUpIsReplaced); a count of
// readers without `draining` (TriesSeeWhatADrainGivenUpHasLeft); has_come_back that does not ask how long the thread
// has run, or whether it has slept (AWriterThatCouldNotRunHasComeBack); say_readers_wait left out, and hf_rwscl_open
// without its readers_return (AReaderThatHadToLeaveWaits); say_over without READERS_WAIT
// (AReaderThatEndsItsSliceWaits); hf_rwscl_slice_is_over that does not look at when the slice began, or
// hf_rwscl_is_recent that takes all that is ahead for recent (AClockThatGoesBackHoldsNobodyUp); a drain that is never
// given up (hangs). It hangs when nobody keeps the time, when the end of the writers' slice wakes nobody, when the last
// reader wakes nobody, when a reader leaves a closed gate as an open one, and when a writer sleeps for a set time
// unannounced and takes the word as one that has not slept (AWriterInATimedSleepLeavesNobodyAsleep). A
// writer that never stands back: TheLastComerLeavesTheFrontPlaceToOthers. is_still_writers that does not ask whether
// anybody waits: AWriterThatStoodBackEndsNoSliceForNobody.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <latch>
#include <sched.h>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "base/thread_cpus.hpp"
#include "holdfast/rwscl.h"
#include "lock/every_lock.hpp"
#include "lock/flexguard/flexguard_lock.h"
#include "lock/scl/rwscl_slice.h"
#include "lock/scl/rwscl_state.h"
#include "patience.hpp"
#include "posix/threads_and_processes.hpp"

namespace holdfast::test {
namespace {

constexpr long forever_ms = 60'000, short_ms = 20;

void run_in_thread(const std::function<void()> &body) {
    std::thread(body).join();
}

bool gates_are_closed(const hf_rwscl_t &lock) {
    return hf_load_acquire(&lock.gates[0].readers) & HF_GATE_CLOSED;
}

// Waits until somebody drains the readers, or has given up: a drain may be over before we can look.
void await_drain(const hf_rwscl_t &lock, const std::atomic<bool> &gave_up = false) {
    while (!gates_are_closed(lock) && !gave_up)
        std::this_thread::yield();
}

// Each test with one node and with two, over which CPUs are dealt.
class rwscl : public testing::TestWithParam<unsigned> {
protected:
    rwscl() { hf_numa_pretend(GetParam()); }
    ~rwscl() override { hf_numa_pretend(1); }

    hf_rwscl_t lock = HF_RWSCL_INIT;

    bool reading_is_free() {
        bool got = false;
        run_in_thread([&] {
            got = hf_rwscl_read_trylock(&lock);
            if (got)
                hf_rwscl_read_unlock(&lock);
        });
        return got;
    }
    bool writing_is_free() {
        bool got = false;
        run_in_thread([&] {
            got = hf_rwscl_write_trylock(&lock);
            if (got)
                hf_rwscl_write_unlock(&lock);
        });
        return got;
    }
};

TEST_P(rwscl, ReadersAreTogetherAndWritersAlone) {
    for (int round = 0; round < 3; round++) {
        hf_rwscl_read_lock(&lock);
        EXPECT_TRUE(reading_is_free());
        EXPECT_FALSE(writing_is_free());
        run_in_thread([&] { hf_rwscl_read_lock(&lock), hf_rwscl_read_unlock(&lock); });
        EXPECT_FALSE(writing_is_free()) << "one of two has left";
        hf_rwscl_read_unlock(&lock);
        EXPECT_TRUE(writing_is_free());
        hf_rwscl_write_lock(&lock);
        EXPECT_FALSE(reading_is_free());
        EXPECT_FALSE(writing_is_free());
        hf_rwscl_write_unlock(&lock);
        EXPECT_TRUE(reading_is_free());
        EXPECT_TRUE(writing_is_free());
    }
}

TEST_P(rwscl, OneThreadGoesToAndFro) {
    for (int round = 0; round < 1000; round++) {
        hf_rwscl_write_lock(&lock);
        hf_rwscl_write_unlock(&lock);
        hf_rwscl_read_lock(&lock);
        hf_rwscl_read_unlock(&lock);
        ASSERT_TRUE(hf_rwscl_write_trylock(&lock));
        hf_rwscl_write_unlock(&lock);
        ASSERT_TRUE(hf_rwscl_read_trylock(&lock));
        hf_rwscl_read_unlock(&lock);
    }
}

TEST_P(rwscl, ChecksItsOptions) {
    EXPECT_EQ(hf_rwscl_set_ratio(&lock, 9, 1), 0);
    EXPECT_EQ(hf_rwscl_set_ratio(&lock, HF_RWSCL_WEIGHT_MAX, HF_RWSCL_WEIGHT_MAX), 0);
    EXPECT_EQ(hf_rwscl_set_ratio(&lock, 0, 1), EINVAL);
    EXPECT_EQ(hf_rwscl_set_ratio(&lock, 1, 0), EINVAL);
    EXPECT_EQ(hf_rwscl_set_ratio(&lock, HF_RWSCL_WEIGHT_MAX + 1, 1), EINVAL);
    EXPECT_EQ(hf_rwscl_set_slice(&lock, HF_RWSCL_SLICE_US_MAX), 0);
    EXPECT_EQ(hf_rwscl_set_slice(&lock, HF_RWSCL_SLICE_US_MAX + 1), EINVAL);
}

TEST_P(rwscl, SlicesAreAsLongAsTheRatioSays) {
    hf_rwscl_set_slice(&lock, 1000);
    // Not equal: the clock may still be being calibrated.
    auto one = static_cast<double>(hf_rwscl_ticks_of_us(1000));
    EXPECT_NEAR(static_cast<double>(hf_rwscl_slice_ticks(&lock, 1, 1)) / one, 1, 0.2);
    EXPECT_NEAR(static_cast<double>(hf_rwscl_slice_ticks(&lock, 9, 1)) / one, 9, 2);
    EXPECT_NEAR(static_cast<double>(hf_rwscl_slice_ticks(&lock, 1, 9)) / one, 1, 0.2);
    // What was too long counts from when somebody waited for the end.
    lock.slice_end = 1000;
    EXPECT_EQ(hf_rwscl_overrun(&lock, 500, 900), 0u);
    EXPECT_EQ(hf_rwscl_overrun(&lock, 500, 1300), 300u);
    EXPECT_EQ(hf_rwscl_overrun(&lock, 1200, 1300), 100u);
    auto most = static_cast<double>(hf_rwscl_overrun(&lock, 0, UINT64_MAX));
    EXPECT_NEAR(most / static_cast<double>(hf_rwscl_ticks_of_us(HF_RWSCL_OVERRUN_US_MAX)), 1, 0.2);
}

TEST_P(rwscl, TimesOutUnderAWriter) {
    for (clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
        hf_rwscl_write_lock(&lock);
        run_in_thread([&] {
            timespec soon = from_now(clock, short_ms);
            EXPECT_EQ(hf_rwscl_read_clocklock(&lock, clock, &soon), ETIMEDOUT);
            EXPECT_EQ(hf_rwscl_write_clocklock(&lock, clock, &soon), ETIMEDOUT);
            timespec now{};
            clock_gettime(clock, &now);
            EXPECT_TRUE(now.tv_sec > soon.tv_sec || (now.tv_sec == soon.tv_sec && now.tv_nsec >= soon.tv_nsec));
        });
        hf_rwscl_write_unlock(&lock);
        EXPECT_TRUE(reading_is_free());
    }
}

TEST_P(rwscl, TakesWhatIsFreeAtADeadlineThatHasPassed) {
    timespec past{};
    for (bool after_a_reader : {false, true}) {
        run_in_thread([&] {
            after_a_reader ? (hf_rwscl_read_lock(&lock), hf_rwscl_read_unlock(&lock))
                           : (hf_rwscl_write_lock(&lock), hf_rwscl_write_unlock(&lock));
        });
        EXPECT_EQ(hf_rwscl_read_clocklock(&lock, CLOCK_MONOTONIC, &past), 0);
        hf_rwscl_read_unlock(&lock);
        EXPECT_EQ(hf_rwscl_write_clocklock(&lock, CLOCK_REALTIME, &past), 0);
        hf_rwscl_write_unlock(&lock);
    }
}

TEST_P(rwscl, RefusesWrongDeadlinesWhenItWouldWait) {
    timespec wrong{.tv_sec = 0, .tv_nsec = 1'000'000'000}, soon = from_now(CLOCK_MONOTONIC, short_ms);
    EXPECT_EQ(hf_rwscl_write_clocklock(&lock, CLOCK_MONOTONIC, &wrong), 0);
    run_in_thread([&] {
        EXPECT_EQ(hf_rwscl_read_clocklock(&lock, CLOCK_MONOTONIC, &wrong), EINVAL);
        EXPECT_EQ(hf_rwscl_write_clocklock(&lock, CLOCK_REALTIME, &wrong), EINVAL);
        EXPECT_EQ(hf_rwscl_read_clocklock(&lock, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
    });
    hf_rwscl_write_unlock(&lock);
}

// A front writer that waits for readers, and gives up: readers get in again, those that are inside still count.
TEST_P(rwscl, AWriterThatGivesUpLetsReadersIn) {
    hf_rwscl_set_slice(&lock, 0); // it drains at once
    for (int round = 0; round < 5; round++) {
        hf_rwscl_read_lock(&lock);
        std::atomic<bool> gave_up = false;
        std::thread writer([&] {
            timespec soon = from_now(CLOCK_MONOTONIC, short_ms);
            EXPECT_EQ(hf_rwscl_write_clocklock(&lock, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
            gave_up = true;
        });
        await_drain(lock, gave_up);
        std::thread reader([&] { // waits behind it, and is let in
            hf_rwscl_read_lock(&lock);
            hf_rwscl_read_unlock(&lock);
        });
        writer.join();
        reader.join();
        EXPECT_TRUE(reading_is_free());
        EXPECT_FALSE(writing_is_free()) << "one reader is still inside";
        hf_rwscl_read_unlock(&lock);
        EXPECT_TRUE(writing_is_free());
    }
}

// The same in the readers' slice, before the gates are closed.
TEST_P(rwscl, AFrontWriterThatGivesUpLeavesTheSlice) {
    hf_rwscl_set_slice(&lock, HF_RWSCL_SLICE_US_MAX);
    run_in_thread([&] { hf_rwscl_write_lock(&lock), hf_rwscl_write_unlock(&lock); });
    hf_rwscl_read_lock(&lock); // begins a slice of the readers'
    run_in_thread([&] {
        timespec soon = from_now(CLOCK_MONOTONIC, short_ms);
        EXPECT_EQ(hf_rwscl_write_clocklock(&lock, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
    });
    EXPECT_EQ(lock.state & (HF_RWSCL_FRONT | HF_RWSCL_OVER), 0u);
    EXPECT_EQ(lock.word, static_cast<uint32_t>(HF_WORD_FREE));
    EXPECT_TRUE(reading_is_free());
    hf_rwscl_read_unlock(&lock);
    EXPECT_TRUE(writing_is_free());
}

// rwscl.RS6: it does not wait for the writer that waits for it.
TEST_P(rwscl, AReaderReadsAgainDuringADrain) {
    hf_rwscl_set_slice(&lock, 0);
    hf_rwscl_read_lock(&lock);
    std::thread writer([&] { hf_rwscl_write_lock(&lock), hf_rwscl_write_unlock(&lock); });
    await_drain(lock);
    EXPECT_TRUE(hf_rwscl_read_again(&lock, hf_self()));
    hf_rwscl_read_unlock(&lock);
    EXPECT_FALSE(writing_is_free()) << "once more";
    hf_rwscl_read_unlock(&lock);
    writer.join();
    EXPECT_TRUE(writing_is_free());
    // A thread that only believes to read is not let in to a writer.
    hf_rwscl_write_lock(&lock);
    run_in_thread([&] { EXPECT_FALSE(hf_rwscl_read_again(&lock, hf_self())); });
    hf_rwscl_write_unlock(&lock);
    EXPECT_TRUE(reading_is_free());
}

// rwscl.RS6: the one that is inside waits for another one, which waits for the drain's end.
TEST_P(rwscl, ADrainThatLastsTooLongIsGivenUp) {
    for (int round = 0; round < 3; round++) {
        hf_rwscl_read_lock(&lock);
        std::thread writer([&] { hf_rwscl_write_lock(&lock), hf_rwscl_write_unlock(&lock); });
        await_drain(lock);
        run_in_thread([&] { hf_rwscl_read_lock(&lock), hf_rwscl_read_unlock(&lock); });
        hf_rwscl_read_unlock(&lock);
        writer.join();
        EXPECT_TRUE(writing_is_free());
    }
}

// A reader that has left by a closed gate is subtracted from `draining`, also when the gates are open again.
TEST_P(rwscl, TriesSeeWhatADrainGivenUpHasLeft) {
    lock.gates[0].readers = HF_GATE_READER;
    EXPECT_FALSE(writing_is_free());
    lock.draining = -static_cast<uint32_t>(HF_DRAIN_READER);
    EXPECT_TRUE(writing_is_free());
    EXPECT_TRUE(reading_is_free());
    EXPECT_TRUE(writing_is_free());
}

// A reader at its deadline leaves the keeping of time to another.
TEST_P(rwscl, AKeeperThatGivesUpIsReplaced) {
    hf_rwscl_write_lock(&lock);
    std::atomic<bool> gave_up = false;
    std::thread timekeeper([&] {
        timespec soon = from_now(CLOCK_MONOTONIC, short_ms);
        EXPECT_EQ(hf_rwscl_read_clocklock(&lock, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
        gave_up = true;
    });
    while (!(hf_load_acquire(&lock.state) & HF_RWSCL_TIMEKEEPER) && !gave_up)
        std::this_thread::yield();
    std::thread reader([&] {
        timespec late = from_now(CLOCK_MONOTONIC, forever_ms);
        EXPECT_EQ(hf_rwscl_read_clocklock(&lock, CLOCK_MONOTONIC, &late), 0);
        hf_rwscl_read_unlock(&lock);
    });
    timekeeper.join();
    // Given back without a look at who waits: only a timekeeper can find out.
    hf_flexguard_release_fenced(&lock.word, &lock.releases, hf_self());
    reader.join();
}

// Ends the writers' slice, then lets `body` run and comes again, a second after the slice's end as the lock sees it. Is
// it taken for one that has come back at once?
bool comes_back(hf_rwscl_t &lock, const std::function<void()> &body) {
    hf_rwscl_set_slice(&lock, 0);
    hf_rwscl_write_lock(&lock);
    std::thread reader([&] { hf_rwscl_read_lock(&lock), hf_rwscl_read_unlock(&lock); });
    while (!(hf_load_acquire(&lock.state) & HF_RWSCL_READERS_WAIT))
        std::this_thread::yield();
    hf_rwscl_write_unlock(&lock);
    hf_store_relaxed(&lock.changed_at, lock.changed_at - hf_rwscl_ticks_of_us(1e6));
    hf_store_relaxed(&lock.writers_return, 0);
    body();
    hf_rwscl_write_lock(&lock);
    bool back = hf_load_relaxed(&lock.writers_return); // changed by nobody while a writer is inside
    hf_rwscl_write_unlock(&lock);
    reader.join();
    return back;
}

long ran_us() {
    timespec ran{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return ran.tv_sec * 1'000'000 + ran.tv_nsec / 1000;
}

// A writer that ends its slice wakes readers that take its CPU: it has stayed away, and has not wanted to.
TEST_P(rwscl, AWriterThatCouldNotRunHasComeBack) {
    EXPECT_FALSE(comes_back(lock, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }));
    EXPECT_FALSE(comes_back(lock, [] {
        for (long began = ran_us(); ran_us() < began + 1000;)
            continue;
    }));
    // Not always: what it does itself may take too long, under a sanitizer or a hypervisor.
    EXPECT_TRUE(comes_true([this] { return comes_back(lock, [] {}); }));
}

// On one CPU, where a batch thread does not take it from a thread that has woken it.
void share_one_cpu(int cpu) {
    ASSERT_TRUE(holdfast::stay_on({cpu}));
    sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
}

// As if a reader that had just been inside were to come back.
void expect_readers(hf_rwscl_t &lock) {
    hf_store_relaxed(&lock.readers_return, 1);
    for (hf_rwscl_gate &gate : lock.gates)
        hf_store_relaxed(&gate.last_reader, 1);
}

// Ends the writers' slice while another writer waits for the word, and comes again before that one can run. Does it
// leave the front place to it?
bool stands_back(hf_rwscl_t &lock, int cpu) {
    bool second_has_written = false, stood_back = false;
    hf_rwscl_write_lock(&lock);
    std::thread second([&] {
        share_one_cpu(cpu);
        hf_rwscl_write_lock(&lock);
        second_has_written = true;
        hf_rwscl_write_unlock(&lock);
    });
    while (hf_load_acquire(&lock.waiting_writers) == 0)
        std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // until it sleeps, mostly
    expect_readers(lock);
    hf_rwscl_end_slice(&lock, hf_self());
    hf_flexguard_release_fenced(&lock.word, &lock.releases, hf_self());
    hf_rwscl_write_lock(&lock);
    stood_back = second_has_written;
    hf_rwscl_write_unlock(&lock);
    second.join();
    return stood_back;
}

TEST_P(rwscl, TheLastComerLeavesTheFrontPlaceToOthers) {
    constexpr int enough = 3;
    hf_rwscl_set_slice(&lock, 20'000);
    run_in_thread([&] {
        int cpu = sched_getcpu(), stood_back = 0;
        share_one_cpu(cpu);
        // Not always: another process may have the CPU for longer than it waits.
        EXPECT_TRUE(comes_true([&] {
            stood_back += stands_back(lock, cpu);
            return stood_back == enough;
        })) << stood_back;
    });
}

// A writer that stands back may come back to a writers' slice that has lasted for as long as readers have stayed away.
// It goes on: nobody waits for its end. (A writer that comes too late to stand back finds the same.)
TEST_P(rwscl, AWriterThatStoodBackEndsNoSliceForNobody) {
    hf_rwscl_init(&lock);
    lock.changed_at = hf_ticks();
    lock.slice_end = lock.changed_at + hf_rwscl_ticks_of_us(100'000);
    expect_readers(lock);
    hf_store_relaxed(&lock.waiting_writers, 1); // another one, on its way
    std::thread writer([&] {
        hf_rwscl_write_lock(&lock);
        EXPECT_TRUE(hf_rwscl_is_writers(hf_load_relaxed(&lock.state)));
        EXPECT_EQ(hf_load_relaxed(&lock.state) / HF_RWSCL_ROUND, 0U) << "the readers have been given a slice";
        hf_rwscl_write_unlock(&lock);
    });
    std::this_thread::sleep_for(std::chrono::microseconds(150));
    while (!hf_rwscl_write_trylock(&lock)) // the readers are not there: it is the writers' slice
        std::this_thread::yield();
    hf_store_relaxed(&lock.waiting_writers, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    lock.slice_end = hf_ticks() - 1;
    hf_rwscl_write_unlock(&lock);
    writer.join();
}

// As a reader may be stopped right after it has left, or has been told that time is over: the slice that follows ends
// for it all the same.
TEST_P(rwscl, AReaderThatHadToLeaveWaits) {
    hf_rwscl_set_slice(&lock, 0);
    hf_rwscl_read_lock(&lock);
    std::thread writer([&] {
        hf_rwscl_write_lock(&lock);
        EXPECT_TRUE(hf_load_relaxed(&lock.state) & HF_RWSCL_READERS_WAIT);
        hf_store_relaxed(&lock.readers_return, 0);
        hf_rwscl_write_unlock(&lock);
        EXPECT_TRUE(hf_load_relaxed(&lock.readers_return)) << "who is next to write will not wait for it";
    });
    await_drain(lock);
    hf_rwscl_read_unlock(&lock);
    writer.join();
}

TEST_P(rwscl, AReaderThatEndsItsSliceWaits) {
    auto in_time = [&] {
        hf_thread_record *self = hf_self();
        hf_critical_enter(self);
        bool entered = hf_rwscl_enter_in_time(&lock);
        hf_critical_leave(self);
        return entered;
    };
    // As a front writer leaves it that sleeps; nobody is there whom the reader could wake. The slice is over.
    lock.state = HF_RWSCL_FRONT;
    for (hf_rwscl_gate &gate : lock.gates)
        gate.readers = HF_GATE_TIMED;
    EXPECT_FALSE(in_time());
    EXPECT_EQ(lock.state, uint32_t{HF_RWSCL_FRONT | HF_RWSCL_OVER | HF_RWSCL_READERS_WAIT});
    EXPECT_NE(lock.waited_since, 0u);
    lock.state = 0; // the front writer has given up
    EXPECT_TRUE(in_time());
    EXPECT_EQ(lock.state, 0u);
}

// Leaves where it did not come in.
// All that the lock has noted is half an hour ahead, as when the machine goes on with a smaller clock.
void let_clock_go_back(hf_rwscl_t &lock) {
    std::uint64_t ahead = hf_rwscl_ticks_of_us(1800e6), then = hf_ticks() + ahead;
    hf_store_relaxed(&lock.slice_end, then + ahead);
    for (std::uint64_t *at : {&lock.changed_at, &lock.written_at, &lock.waited_since})
        hf_store_relaxed(at, then);
    for (hf_rwscl_gate &gate : lock.gates)
        hf_store_relaxed(&gate.seen_ticks, then);
}

// One kind uses the lock without end; the other one gets its slice all the same.
bool comes_in_beside(hf_rwscl_t &lock, void (*use)(hf_rwscl_t *), void (*come_in)(hf_rwscl_t *)) {
    std::atomic<bool> uses = false, done = false;
    std::thread other([&] {
        while (!done) {
            use(&lock);
            uses = true;
        }
    });
    while (!uses)
        std::this_thread::yield();
    hf_store_relaxed(&lock.readers_return, 1);
    hf_store_relaxed(&lock.writers_return, 1);
    let_clock_go_back(lock);
    come_in(&lock);
    done = true;
    other.join();
    return true;
}

TEST_P(rwscl, AClockThatGoesBackHoldsNobodyUp) {
    auto read = [](hf_rwscl_t *one) {
        hf_rwscl_read_lock(one);
        hf_rwscl_read_unlock(one);
    };
    auto write = [](hf_rwscl_t *one) {
        hf_rwscl_write_lock(one);
        hf_rwscl_write_unlock(one);
    };
    EXPECT_TRUE(child_process([&] { return comes_in_beside(lock, read, write); }).succeeds());
    EXPECT_TRUE(child_process([&] { return comes_in_beside(lock, write, read); }).succeeds());
}

TEST_P(rwscl, ClocksOfTwoCPUsMayDiffer) {
    std::uint64_t now = hf_ticks(), differ = hf_rwscl_idle_ticks() / 2;
    lock.slice_end = now + hf_rwscl_ticks_of_us(HF_RWSCL_SLICE_US_DEFAULT);
    lock.changed_at = now + differ;
    EXPECT_FALSE(hf_rwscl_slice_is_over(&lock, now));
    EXPECT_TRUE(hf_rwscl_is_recent(now + differ, now));
    EXPECT_FALSE(hf_rwscl_is_recent(now + 4 * differ, now));
}

TEST_P(rwscl, AReaderMayMoveToAnotherNode) {
    std::vector<int> cpus = holdfast::usable_cpus();
    if (cpus.size() < 2)
        GTEST_SKIP() << "needs two CPUs";
    for (bool draining : {false, true}) {
        hf_rwscl_set_slice(&lock, 0);
        std::latch moved(2), may_leave(1);
        std::vector<std::thread> readers;
        for (int i = 0; i < 2; i++)
            readers.emplace_back([&, i] {
                EXPECT_TRUE(holdfast::stay_on({cpus[0]}));
                hf_rwscl_read_lock(&lock);
                EXPECT_TRUE(holdfast::stay_on({cpus[static_cast<std::size_t>(i)]}));
                moved.count_down();
                may_leave.wait();
                hf_rwscl_read_unlock(&lock);
            });
        moved.wait();
        std::thread writer;
        if (draining) {
            writer = std::thread([&] { hf_rwscl_write_lock(&lock), hf_rwscl_write_unlock(&lock); });
            await_drain(lock);
        }
        may_leave.count_down();
        for (auto &reader : readers)
            reader.join();
        if (draining)
            writer.join();
        EXPECT_TRUE(writing_is_free());
        EXPECT_TRUE(reading_is_free());
    }
}

// Neither kind starves, however many the other has: each of these would not end under a lock that prefers one.
void expect_progress(hf_rwscl_t &lock, int readers, int writers) {
    constexpr int rounds = 20;
    std::atomic<bool> stop = false;
    std::atomic<int> writers_done = 0, readers_done = 0;
    long value = 0;
    std::vector<std::thread> team;
    for (int i = 0; i < readers; i++)
        team.emplace_back([&] {
            for (int round = 0; !stop; round++) {
                hf_rwscl_read_lock(&lock);
                volatile long seen = value;
                (void)seen;
                hf_rwscl_read_unlock(&lock);
                if (round == rounds)
                    readers_done++;
            }
        });
    for (int i = 0; i < writers; i++)
        team.emplace_back([&] {
            for (int round = 0; !stop; round++) {
                hf_rwscl_write_lock(&lock);
                value++;
                hf_rwscl_write_unlock(&lock);
                if (round == rounds)
                    writers_done++;
            }
        });
    while (writers_done < writers || readers_done < readers)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop = true;
    for (auto &thread : team)
        thread.join();
}

TEST_P(rwscl, NeitherKindStarves) {
    for (std::uint32_t slice_us : {0, 50, 2000}) {
        hf_rwscl_set_slice(&lock, slice_us);
        hf_rwscl_set_ratio(&lock, 9, 1);
        expect_progress(lock, 7, 1);
        expect_progress(lock, 1, 4);
        hf_rwscl_set_ratio(&lock, 1, 9);
        expect_progress(lock, 4, 4);
    }
}

// Writers alone, whose sections follow each other without a gap: so those that are woken find the word taken, and sleep
// for a set time. Each has a number of sections of its own, so that in the end nobody is left who would wake one that
// was forgotten.
TEST_P(rwscl, AWriterInATimedSleepLeavesNobodyAsleep) {
    for (int round = 0; round < 50; round++) {
        long value = 0, sections = 0;
        std::vector<std::thread> team;
        for (int most = 2'000; most <= 32'000; most *= 2) {
            sections += most;
            team.emplace_back([&, most] {
                for (int section = 0; section < most; section++) {
                    hf_rwscl_write_lock(&lock);
                    for (int work = 0; work < 200; work++)
                        asm volatile("" ::: "memory");
                    value++;
                    hf_rwscl_write_unlock(&lock);
                }
            });
        }
        for (auto &thread : team)
            thread.join();
        EXPECT_EQ(value, sections);
    }
}

// A writer that finds that all readers have been there unmaps the lock, in which the last of them may still be leaving.
TEST_P(rwscl, AWriterMayFreeIt) {
    for (int round = 0; round < 300; round++) {
        void *memory = mmap(nullptr, sizeof(hf_rwscl_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        auto *one = static_cast<hf_rwscl_t *>(memory);
        hf_rwscl_set_slice(one, 0);
        constexpr int others = 4;
        std::atomic<int> been = 0;
        std::vector<std::thread> team;
        for (int i = 0; i < others; i++)
            team.emplace_back([&, i] {
                i % 2 ? hf_rwscl_read_lock(one) : hf_rwscl_write_lock(one);
                been++;
                i % 2 ? hf_rwscl_read_unlock(one) : hf_rwscl_write_unlock(one);
            });
        for (bool last = false; !last;) {
            hf_rwscl_write_lock(one);
            last = been == others;
            hf_rwscl_write_unlock(one);
        }
        munmap(memory, sizeof(hf_rwscl_t));
        for (auto &thread : team)
            thread.join();
    }
}

INSTANTIATE_TEST_SUITE_P(nodes, rwscl, testing::Values(1u, 2u),
                         [](const auto &param) { return std::to_string(param.param); });

} // namespace
} // namespace holdfast::test
