// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_barrier_*: nobody gets ahead, one serial thread a round, memory, processes.
//
// Shown able to fail: with LD_PRELOAD of broken_barrier_wait.c
// (posix/soak) it fails, aborts or is stuck.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <string>

#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

struct made_barrier {
    pthread_barrier_t barrier;
    made_barrier(unsigned count, int shared) { init(&barrier, count, shared); }
    made_barrier(const made_barrier &) = delete;
    made_barrier &operator=(const made_barrier &) = delete;
    ~made_barrier() { EXPECT_EQ(pthread_barrier_destroy(&barrier), 0); }

    static void init(pthread_barrier_t *barrier, unsigned count, int shared) {
        pthread_barrierattr_t attributes;
        EXPECT_EQ(pthread_barrierattr_init(&attributes), 0);
        EXPECT_EQ(pthread_barrierattr_setpshared(&attributes, shared), 0);
        std::memset(static_cast<void *>(barrier), -1, sizeof(*barrier));
        EXPECT_EQ(pthread_barrier_init(barrier, &attributes, count), 0);
        EXPECT_EQ(pthread_barrierattr_destroy(&attributes), 0);
    }
};

class every_barrier : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(barrier, every_barrier, testing::Values(PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED),
                         [](const auto &info) { return std::string(info.param ? "Shared" : "Private"); });

// Rounds of `threads` threads. Nobody leaves a round before all have come to it, so no two are more than one apart.
void meet(int shared, int threads, int rounds) {
    made_barrier made(static_cast<unsigned>(threads), shared);
    std::vector<std::atomic<int>> arrived(static_cast<std::size_t>(rounds)), serial(static_cast<std::size_t>(rounds));
    team all(threads, [&](int) {
        for (std::size_t round = 0; round < arrived.size(); round++) {
            arrived[round]++;
            int told = pthread_barrier_wait(&made.barrier);
            EXPECT_TRUE(told == 0 || told == PTHREAD_BARRIER_SERIAL_THREAD) << told;
            serial[round] += told == PTHREAD_BARRIER_SERIAL_THREAD;
            EXPECT_EQ(arrived[round], threads) << "left round " << round << " before all had come";
        }
    });
    all.join();
    for (const auto &one : serial)
        EXPECT_EQ(one, 1) << "threads that were told they are the serial one";
}

TEST_P(every_barrier, LetsNobodyThroughBeforeAllHaveCome) {
    meet(GetParam(), 2, 2000);
    meet(GetParam(), 3, 1000);
}

TEST_P(every_barrier, WorksForMoreThreadsThanThereAreCpus) {
    meet(GetParam(), static_cast<int>(std::thread::hardware_concurrency()) * 2 + 5, 200);
    meet(GetParam(), 64, 20);
}

TEST_P(every_barrier, OfOneLetsEveryCallerThroughAsTheSerialOne) {
    made_barrier made(1, GetParam());
    for (int round = 0; round < 100; round++)
        EXPECT_EQ(pthread_barrier_wait(&made.barrier), PTHREAD_BARRIER_SERIAL_THREAD);
}

TEST_P(every_barrier, ThreadsThatComeEarlyWait) {
    constexpr int threads = 4;
    made_barrier made(threads + 1, GetParam());
    for (int round = 0; round < 3; round++) {
        std::atomic<int> through = 0;
        team early(threads, [&](int) {
            pthread_barrier_wait(&made.barrier);
            through++;
        });
        a_short_while();
        EXPECT_EQ(through, 0);
        pthread_barrier_wait(&made.barrier);
        early.join();
        EXPECT_EQ(through, threads);
    }
}

// More threads than a round takes: they go through in groups of that size, in whatever order they come.
TEST_P(every_barrier, ServesMoreThreadsThanItCounts) {
    constexpr int group = 3, threads = 9, rounds = 200;
    made_barrier made(group, GetParam());
    std::atomic<int> serial = 0;
    // A pool of tickets, a multiple of the group: the last group is whole whoever is in it.
    std::atomic<int> tickets = threads * rounds;
    std::atomic<int> meetings = 0;
    team all(threads, [&](int) {
        while (tickets-- > 0) {
            meetings++;
            serial += pthread_barrier_wait(&made.barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
        }
    });
    all.join();
    EXPECT_EQ(meetings, threads * rounds);
    EXPECT_EQ(serial, threads * rounds / group);
}

TEST_P(every_barrier, OthersSeeWhatWasWrittenBeforeIt) {
    constexpr int threads = 4, rounds = 300;
    made_barrier made(threads, GetParam());
    int written[threads] = {}; // each by its thread alone, read by all between two meetings
    team all(threads, [&](int member) {
        for (int round = 1; round <= rounds; round++) {
            written[member] = round;
            pthread_barrier_wait(&made.barrier);
            for (int other : written)
                EXPECT_EQ(other, round);
            pthread_barrier_wait(&made.barrier);
        }
    });
}

// As soon as one thread has returned the barrier may be destroyed and its memory used for something else, although the
// others are still on their way out.
TEST_P(every_barrier, MayBeDestroyedAndFreedByTheSerialThread) {
    constexpr int threads = 4;
    for (int round = 0; round < 300; round++) {
        auto *barrier = new pthread_barrier_t;
        made_barrier::init(barrier, threads, GetParam());
        std::atomic<int> serial = 0;
        team all(threads, [&](int) {
            if (pthread_barrier_wait(barrier) != PTHREAD_BARRIER_SERIAL_THREAD)
                return;
            serial++;
            EXPECT_EQ(pthread_barrier_destroy(barrier), 0);
            std::memset(static_cast<void *>(barrier), -1, sizeof(*barrier));
            delete barrier;
        });
        all.join();
        EXPECT_EQ(serial, 1);
    }
}

TEST_P(every_barrier, MayBeDestroyedByTheFirstToReturn) {
    constexpr int threads = 4;
    for (int round = 0; round < 300; round++) {
        auto *barrier = new pthread_barrier_t;
        made_barrier::init(barrier, threads, GetParam());
        std::atomic<int> returned = 0;
        team all(threads, [&](int) {
            pthread_barrier_wait(barrier);
            if (returned++ != 0)
                return;
            EXPECT_EQ(pthread_barrier_destroy(barrier), 0);
            std::memset(static_cast<void *>(barrier), -1, sizeof(*barrier));
            delete barrier;
        });
    }
}

TEST_P(every_barrier, MayBeMadeAgainWithAnotherCount) {
    auto barrier = std::make_unique<pthread_barrier_t>();
    for (unsigned count = 1; count < 8; count++) {
        made_barrier::init(barrier.get(), count, GetParam());
        std::atomic<int> serial = 0;
        team all(static_cast<int>(count), [&](int) {
            for (int round = 0; round < 20; round++)
                serial += pthread_barrier_wait(barrier.get()) == PTHREAD_BARRIER_SERIAL_THREAD;
        });
        all.join();
        EXPECT_EQ(serial, 20);
        EXPECT_EQ(pthread_barrier_destroy(barrier.get()), 0);
    }
}

TEST_P(every_barrier, SignalsDoNotEndAWait) {
    counting_handler handler;
    made_barrier made(2, GetParam());
    std::atomic<bool> through = false, may_end = false;
    team waiting;
    waiting.add([&] {
        pthread_barrier_wait(&made.barrier);
        through = true;
        while (!may_end)
            sched_yield();
    });
    handler.interrupt(waiting.handle(0));
    EXPECT_FALSE(through);
    pthread_barrier_wait(&made.barrier);
    EXPECT_TRUE(eventually([&] { return through.load(); }));
    may_end = true;
}

// It is no cancellation point: a round can't lose a thread that has come.
TEST_P(every_barrier, AWaitingThreadIsNotCancelledBeforeItLeft) {
    made_barrier made(2, GetParam());
    std::atomic<bool> arriving = false, through = false;
    team waiting;
    waiting.add([&] {
        arriving = true;
        pthread_barrier_wait(&made.barrier);
        through = true;
        for (;;)
            pthread_testcancel();
    });
    EXPECT_TRUE(eventually([&] { return arriving.load(); }));
    a_short_while();
    ASSERT_EQ(pthread_cancel(waiting.handle(0)), 0);
    a_short_while();
    EXPECT_FALSE(through);
    pthread_barrier_wait(&made.barrier);
    waiting.join();
    EXPECT_TRUE(through);
}

TEST_P(every_barrier, LeavesErrnoAlone) {
    made_barrier made(2, GetParam());
    team both(2, [&](int) {
        errno = 77;
        for (int round = 0; round < 100; round++)
            pthread_barrier_wait(&made.barrier);
        EXPECT_EQ(errno, 77);
    });
}

TEST(barrier, OfNobodyIsRefused) {
    pthread_barrier_t barrier;
    EXPECT_EQ(pthread_barrier_init(&barrier, nullptr, 0), EINVAL);
}

TEST(barrier, WithoutAttributesIsPrivate) {
    pthread_barrier_t barrier;
    std::memset(static_cast<void *>(&barrier), -1, sizeof(barrier));
    ASSERT_EQ(pthread_barrier_init(&barrier, nullptr, 3), 0);
    std::atomic<int> serial = 0;
    team all(3, [&](int) { serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD; });
    all.join();
    EXPECT_EQ(serial, 1);
    EXPECT_EQ(pthread_barrier_destroy(&barrier), 0);
}

TEST(barrier, AttributesSayWhatTheyWereSetTo) {
    pthread_barrierattr_t attributes;
    ASSERT_EQ(pthread_barrierattr_init(&attributes), 0);
    int shared = -1;
    EXPECT_EQ(pthread_barrierattr_getpshared(&attributes, &shared), 0);
    EXPECT_EQ(shared, PTHREAD_PROCESS_PRIVATE);
    EXPECT_EQ(pthread_barrierattr_setpshared(&attributes, 17), EINVAL);
    EXPECT_EQ(pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
    EXPECT_EQ(pthread_barrierattr_getpshared(&attributes, &shared), 0);
    EXPECT_EQ(shared, PTHREAD_PROCESS_SHARED);
    EXPECT_EQ(pthread_barrierattr_destroy(&attributes), 0);
}

// glibc's words and Holdfast's: in, how many are let go, count, shared, out. Their numbers end at the last multiple of
// the count below 2^31, and begin anew. Shown able to fail: without begin_anew it is stuck.
TEST(barrier, NumbersBeginAnew) {
    constexpr unsigned threads = 3, last = INT32_MAX - INT32_MAX % threads;
    for (unsigned rounds_before : {1, 2, 99}) {
        made_barrier made(threads, PTHREAD_PROCESS_PRIVATE);
        auto *words = reinterpret_cast<uint32_t *>(&made.barrier);
        words[0] = words[1] = words[4] = last - rounds_before * threads;
        std::atomic<int> serial = 0;
        {
            team all(threads, [&](int) {
                for (int round = 0; round < 100; round++)
                    serial += pthread_barrier_wait(&made.barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
            });
        }
        EXPECT_EQ(serial, 100);
        EXPECT_EQ(words[0], (100 - rounds_before) * threads);
    }
}

TEST(shared_barrier, HoldsProcessesTogether) {
    constexpr int processes = 5, rounds = 300;
    struct shared {
        pthread_barrier_t barrier;
        std::atomic<int> arrived[rounds], serial;
    };
    shared_with_children<shared> page;
    made_barrier::init(&page->barrier, processes, PTHREAD_PROCESS_SHARED);
    auto work = [&] {
        for (auto &arrived : page->arrived) {
            arrived++;
            page->serial += pthread_barrier_wait(&page->barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
            if (arrived != processes)
                return false;
        }
        return true;
    };
    EXPECT_TRUE(succeeds_here_and_in(4, work));
    EXPECT_EQ(page->serial, rounds);
    EXPECT_EQ(pthread_barrier_destroy(&page->barrier), 0);
}

} // namespace
} // namespace holdfast::test
