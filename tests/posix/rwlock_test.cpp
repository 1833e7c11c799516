// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_rwlock_*: who may be inside with whom, the three kinds, deadlines, errors, processes.
//
// Shown able to fail: with LD_PRELOAD of broken_rwlock_wrlock.c and broken_rwlock_unlock.c
// (posix/soak) it fails, aborts or is stuck.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <span>
#include <string>

#include "deadline.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

// One way to ask for a lock that waits: without a deadline, by the real-time clock, by either clock.
struct request {
    const char *name;
    int (*ask)(pthread_rwlock_t *lock, const timespec *at, clockid_t clock);
    bool timed;
    clockid_t clock;
};

constexpr auto rdlock = [](pthread_rwlock_t *lock, const timespec *, clockid_t) { return pthread_rwlock_rdlock(lock); };
constexpr auto wrlock = [](pthread_rwlock_t *lock, const timespec *, clockid_t) { return pthread_rwlock_wrlock(lock); };
constexpr auto timedrdlock = [](pthread_rwlock_t *lock, const timespec *at, clockid_t) {
    return pthread_rwlock_timedrdlock(lock, at);
};
constexpr auto timedwrlock = [](pthread_rwlock_t *lock, const timespec *at, clockid_t) {
    return pthread_rwlock_timedwrlock(lock, at);
};
constexpr auto clockrdlock = [](pthread_rwlock_t *lock, const timespec *at, clockid_t clock) {
    return pthread_rwlock_clockrdlock(lock, clock, at);
};
constexpr auto clockwrlock = [](pthread_rwlock_t *lock, const timespec *at, clockid_t clock) {
    return pthread_rwlock_clockwrlock(lock, clock, at);
};

constexpr request every_request[] = {
    {"rdlock", rdlock, false, CLOCK_REALTIME},          {"timedrdlock", timedrdlock, true, CLOCK_REALTIME},
    {"clockrdlock", clockrdlock, true, CLOCK_REALTIME}, {"clockrdlock, monotonic", clockrdlock, true, CLOCK_MONOTONIC},
    {"wrlock", wrlock, false, CLOCK_REALTIME},          {"timedwrlock", timedwrlock, true, CLOCK_REALTIME},
    {"clockwrlock", clockwrlock, true, CLOCK_REALTIME}, {"clockwrlock, monotonic", clockwrlock, true, CLOCK_MONOTONIC}};
constexpr std::span every_read = std::span(every_request).first<4>();
constexpr std::span every_write = std::span(every_request).last<4>();

int ask(const request &how, pthread_rwlock_t *lock, long ms) {
    timespec at = from_now(how.clock, ms);
    return how.ask(lock, &at, how.clock);
}

struct made_rwlock {
    pthread_rwlock_t lock{};
    explicit made_rwlock(int kind = PTHREAD_RWLOCK_DEFAULT_NP, int shared = PTHREAD_PROCESS_PRIVATE) {
        init(&lock, kind, shared);
    }
    made_rwlock(const made_rwlock &) = delete;
    made_rwlock &operator=(const made_rwlock &) = delete;
    ~made_rwlock() { EXPECT_EQ(pthread_rwlock_destroy(&lock), 0); }

    static void init(pthread_rwlock_t *lock, int kind, int shared) {
        pthread_rwlockattr_t attributes;
        EXPECT_EQ(pthread_rwlockattr_init(&attributes), 0);
        EXPECT_EQ(pthread_rwlockattr_setkind_np(&attributes, kind), 0);
        EXPECT_EQ(pthread_rwlockattr_setpshared(&attributes, shared), 0);
        EXPECT_EQ(pthread_rwlock_init(lock, &attributes), 0);
        EXPECT_EQ(pthread_rwlockattr_destroy(&attributes), 0);
    }
};

// What another thread is told that does not want to wait.
struct answers {
    int to_reader, to_writer;
    friend bool operator==(const answers &, const answers &) = default;
};
constexpr answers free_lock{0, 0}, read_locked{0, EBUSY}, write_locked{EBUSY, EBUSY};

answers told_to_others(pthread_rwlock_t *lock) {
    answers told{};
    in_thread([&] {
        told.to_reader = pthread_rwlock_tryrdlock(lock);
        if (told.to_reader == 0) {
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        }
        told.to_writer = pthread_rwlock_trywrlock(lock);
        if (told.to_writer == 0) {
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        }
    });
    return told;
}

struct kind {
    const char *name;
    int kind, shared;
};

class every_kind : public testing::TestWithParam<kind> {
protected:
    made_rwlock made{GetParam().kind, GetParam().shared};
    pthread_rwlock_t *lock = &made.lock;
};

INSTANTIATE_TEST_SUITE_P(rwlock, every_kind,
                         testing::Values(kind{"PreferReader", PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_PROCESS_PRIVATE},
                                         kind{"PreferWriter", PTHREAD_RWLOCK_PREFER_WRITER_NP, PTHREAD_PROCESS_PRIVATE},
                                         kind{"PreferWriterNonrecursive", PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP,
                                              PTHREAD_PROCESS_PRIVATE},
                                         kind{"ProcessShared", PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_SHARED},
                                         kind{"ProcessSharedPreferWriterNonrecursive",
                                              PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, PTHREAD_PROCESS_SHARED}),
                         [](const auto &info) { return std::string(info.param.name); });

// Whichever way it is taken, with what others are told then.
void expect_while_held(pthread_rwlock_t *lock, std::span<const request> ways, int (*try_it)(pthread_rwlock_t *),
                       answers told) {
    auto expect = [&](const char *way, int taken) {
        ASSERT_EQ(taken, 0) << way;
        EXPECT_EQ(told_to_others(lock), told) << way;
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0) << way;
        EXPECT_EQ(told_to_others(lock), free_lock) << way;
    };
    for (const request &how : ways)
        expect(how.name, ask(how, lock, far_away_ms));
    expect("by trying", try_it(lock));
}

TEST_P(every_kind, AWriterIsInsideAlone) {
    expect_while_held(lock, every_write, pthread_rwlock_trywrlock, write_locked);
}

TEST_P(every_kind, AReaderKeepsWritersOutButNoReaders) {
    expect_while_held(lock, every_read, pthread_rwlock_tryrdlock, read_locked);
}

TEST_P(every_kind, ReadersAreInsideAtTheSameTime) {
    constexpr int readers = 6;
    for (const request &how : every_read) {
        std::atomic<int> inside = 0;
        team all(readers, [&](int) {
            EXPECT_EQ(ask(how, lock, far_away_ms), 0);
            inside++;
            EXPECT_TRUE(eventually([&] { return inside == readers; })) << "nobody leaves before all are inside";
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        });
    }
    EXPECT_EQ(told_to_others(lock), free_lock);
}

TEST_P(every_kind, ReadersThatWaitedForAWriterAreInsideAtTheSameTime) {
    constexpr int readers = 4;
    std::atomic<int> inside = 0;
    ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
    team all(readers, [&](int member) {
        EXPECT_EQ(ask(every_read[member], lock, far_away_ms), 0);
        inside++;
        EXPECT_TRUE(eventually([&] { return inside == readers; })) << "nobody leaves before all are inside";
        EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
    });
    a_short_while();
    EXPECT_EQ(inside, 0);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    all.join();
    EXPECT_EQ(told_to_others(lock), free_lock);
}

TEST_P(every_kind, WritersThatWaitGetInOneAfterAnother) {
    constexpr int writers = 4;
    for (bool behind_reader : {false, true}) {
        int inside = 0;
        std::atomic<int> been = 0;
        ASSERT_EQ(behind_reader ? pthread_rwlock_rdlock(lock) : pthread_rwlock_wrlock(lock), 0);
        team all(writers, [&](int member) {
            EXPECT_EQ(ask(every_write[member], lock, far_away_ms), 0);
            EXPECT_EQ(inside++, 0);
            sched_yield();
            EXPECT_EQ(--inside, 0);
            been++;
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        });
        a_short_while();
        EXPECT_EQ(been, 0);
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
        all.join();
        EXPECT_EQ(been, writers);
    }
}

TEST_P(every_kind, ALongMixtureOfReadersAndWritersExcludes) {
    constexpr int threads = 6, rounds = 1500;
    long first = 0, second = 0;
    std::atomic<int> readers_inside = 0, writers_inside = 0;
    std::atomic<long> written = 0;
    team all(threads, [&](int member) {
        auto random = static_cast<unsigned>(member);
        for (int round = 0; round < rounds; round++) {
            random = random * 1664525 + 1013904223;
            const bool writes = (random >> 16) % 4 == 0;
            const unsigned way = (random >> 20) % 5;
            if (way == 4) {
                while ((writes ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock)) != 0)
                    sched_yield();
            } else {
                EXPECT_EQ(ask(writes ? every_write[way] : every_read[way], lock, far_away_ms), 0);
            }
            if (writes) {
                EXPECT_EQ(writers_inside++, 0);
                EXPECT_EQ(readers_inside, 0);
                first++;
                second++;
                written++;
                writers_inside--;
            } else {
                readers_inside++;
                EXPECT_EQ(writers_inside, 0);
                EXPECT_EQ(first, second);
                readers_inside--;
            }
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        }
    });
    all.join();
    EXPECT_EQ(first, written);
    EXPECT_EQ(second, written);
    EXPECT_EQ(told_to_others(lock), free_lock);
}

TEST_P(every_kind, AWriterThatAsksAgainIsToldOfTheDeadlock) {
    ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
    for (const request &how : every_read)
        EXPECT_EQ(ask(how, lock, 1), EDEADLK) << how.name;
    for (const request &how : every_write)
        EXPECT_EQ(ask(how, lock, 1), EDEADLK) << how.name;
    EXPECT_EQ(pthread_rwlock_tryrdlock(lock), EBUSY);
    EXPECT_EQ(pthread_rwlock_trywrlock(lock), EBUSY);
    EXPECT_EQ(told_to_others(lock), write_locked);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(told_to_others(lock), free_lock);
}

TEST_P(every_kind, AReadersLocksNest) {
    constexpr int levels = 100;
    for (int level = 0; level < levels; level++)
        ASSERT_EQ(level % 2 ? pthread_rwlock_rdlock(lock) : pthread_rwlock_tryrdlock(lock), 0);
    for (int level = 0; level < levels; level++) {
        if (level % 10 == 0) {
            EXPECT_EQ(told_to_others(lock), read_locked) << levels - level << " left";
        }
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    }
    EXPECT_EQ(told_to_others(lock), free_lock);
}

TEST_P(every_kind, AWaiterThatCanWaitNoLongerIsTold) {
    for (bool held_by_writer : {true, false}) {
        ASSERT_EQ(held_by_writer ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock), 0);
        in_thread([&] {
            auto times_out = [&](const request &how) {
                if (!how.timed)
                    return;
                timespec at = from_now(how.clock, 10);
                EXPECT_EQ(how.ask(lock, &at, how.clock), ETIMEDOUT) << how.name;
                EXPECT_TRUE(has_passed(how.clock, at)) << how.name;
                EXPECT_EQ(how.ask(lock, &long_ago, how.clock), ETIMEDOUT) << how.name;
                EXPECT_EQ(how.ask(lock, &before_the_epoch, how.clock), ETIMEDOUT) << how.name;
            };
            for (const request &how : every_write)
                times_out(how);
            if (held_by_writer)
                for (const request &how : every_read)
                    times_out(how);
        });
        EXPECT_EQ(told_to_others(lock), held_by_writer ? write_locked : read_locked);
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
        EXPECT_EQ(told_to_others(lock), free_lock) << "who gave up has left nothing behind";
    }
}

TEST_P(every_kind, AFreeLockIsTakenWhateverTheDeadlineWas) {
    for (const timespec &past : {long_ago, before_the_epoch})
        for (const request &how : every_request) {
            EXPECT_EQ(how.ask(lock, &past, how.clock), 0) << how.name;
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        }
}

TEST_P(every_kind, AnImpossibleDeadlineIsRefused) {
    ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
    in_thread([&] {
        for (const timespec &bad : {impossible, impossible_too})
            for (const request &how : every_request)
                if (how.timed) {
                    EXPECT_EQ(how.ask(lock, &bad, how.clock), EINVAL) << how.name;
                }
    });
    EXPECT_EQ(told_to_others(lock), write_locked);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    // POSIX leaves it open whether the deadline is looked at when there is no need to wait.
    for (const request &how : every_request) {
        int told = how.ask(lock, &impossible, how.clock);
        EXPECT_TRUE(told == 0 || (how.timed && told == EINVAL)) << how.name << ": " << told;
        if (told == 0) {
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        }
    }
    EXPECT_EQ(told_to_others(lock), free_lock);
}

TEST_P(every_kind, AClockThatNobodyCanWaitByIsRefused) {
    for (bool held : {false, true}) {
        if (held) {
            ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
        }
        in_thread([&] {
            for (clockid_t clock :
                 {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, clockid_t(1234), clockid_t(-1)}) {
                timespec at = from_now(CLOCK_MONOTONIC, far_away_ms);
                EXPECT_EQ(pthread_rwlock_clockrdlock(lock, clock, &at), EINVAL) << clock;
                EXPECT_EQ(pthread_rwlock_clockwrlock(lock, clock, &at), EINVAL) << clock;
            }
        });
    }
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(told_to_others(lock), free_lock);
}

// A reader that stood behind a waiting writer must not stay there when the writer has given up.
TEST_P(every_kind, ReadersGoOnWhenTheWriterBeforeThemGivesUp) {
    for (int round = 0; round < 5; round++) {
        ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
        std::atomic<bool> writer_gave_up = false, reader_inside = false;
        team others;
        others.add([&] {
            timespec at = from_now(CLOCK_MONOTONIC, 20);
            EXPECT_EQ(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &at), ETIMEDOUT);
            writer_gave_up = true;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        others.add([&] {
            EXPECT_EQ(pthread_rwlock_rdlock(lock), 0);
            reader_inside = true;
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        });
        EXPECT_TRUE(eventually([&] { return writer_gave_up && reader_inside; })) << "while another reader is inside";
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    }
    EXPECT_EQ(told_to_others(lock), free_lock);
}

TEST_P(every_kind, OthersGoOnAfterReadersAndWritersGaveUp) {
    for (bool held_by_writer : {true, false}) {
        ASSERT_EQ(held_by_writer ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock), 0);
        std::atomic<int> been = 0;
        team patient(4, [&](int member) {
            EXPECT_EQ(ask(member % 2 ? every_write[member] : every_read[member], lock, far_away_ms), 0);
            been++;
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        });
        team impatient(4, [&](int member) {
            timespec at = from_now(CLOCK_REALTIME, 5 + 5 * member);
            int told = member % 2 ? pthread_rwlock_timedwrlock(lock, &at) : pthread_rwlock_timedrdlock(lock, &at);
            EXPECT_TRUE(told == ETIMEDOUT || (!held_by_writer && member % 2 == 0 && told == 0)) << told;
            if (told == 0) {
                EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
            }
        });
        impatient.join();
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
        patient.join();
        EXPECT_EQ(been, 4);
        EXPECT_EQ(told_to_others(lock), free_lock);
    }
}

TEST_P(every_kind, SignalsDoNotEndAWait) {
    counting_handler handler;
    for (const request &how : every_request) {
        ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
        std::atomic<bool> told = false;
        std::atomic<bool> may_end = false;
        team waiting;
        waiting.add([&] {
            EXPECT_EQ(ask(how, lock, far_away_ms), 0) << how.name;
            told = true;
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
            while (!may_end)
                sched_yield();
        });
        handler.interrupt(waiting.handle(0));
        EXPECT_FALSE(told) << how.name;
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
        may_end = true;
    }
}

TEST_P(every_kind, LeavesErrnoAlone) {
    errno = 1234;
    ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
    in_thread([&] {
        errno = 77;
        EXPECT_EQ(ask(every_read[1], lock, 5), ETIMEDOUT);
        EXPECT_EQ(ask(every_write[3], lock, 5), ETIMEDOUT);
        EXPECT_EQ(pthread_rwlock_tryrdlock(lock), EBUSY);
        EXPECT_EQ(errno, 77);
    });
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    EXPECT_EQ(errno, 1234);
}

TEST_P(every_kind, MayBeDestroyedAndMadeAgain) {
    for (int round = 0; round < 3; round++) {
        ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
        ASSERT_EQ(pthread_rwlock_destroy(lock), 0);
        std::memset(static_cast<void *>(lock), -1, sizeof(*lock));
        made_rwlock::init(lock, GetParam().kind, GetParam().shared);
        EXPECT_EQ(told_to_others(lock), free_lock);
    }
}

// The last user may destroy and free the lock while the one before it is still inside unlock.
TEST_P(every_kind, MayBeFreedByTheLastUser) {
    for (int round = 0; round < 600; round++) {
        const bool first_reads = round % 2, last_reads = round % 3 == 0;
        auto *own = new pthread_rwlock_t;
        made_rwlock::init(own, GetParam().kind, GetParam().shared);
        ASSERT_EQ(first_reads ? pthread_rwlock_rdlock(own) : pthread_rwlock_wrlock(own), 0);
        std::atomic<bool> first_is_leaving = false;
        team last;
        last.add([&, own] {
            // A reader would get in while the first still reads: it must be the last to leave, not only to come.
            if (first_reads && last_reads)
                while (!first_is_leaving)
                    sched_yield();
            EXPECT_EQ(last_reads && !first_reads ? pthread_rwlock_rdlock(own) : pthread_rwlock_wrlock(own), 0);
            EXPECT_EQ(pthread_rwlock_unlock(own), 0);
            EXPECT_EQ(pthread_rwlock_destroy(own), 0);
            std::memset(static_cast<void *>(own), -1, sizeof(*own));
            delete own;
        });
        if (round % 5 == 0)
            sched_yield();
        first_is_leaving = true;
        ASSERT_EQ(pthread_rwlock_unlock(own), 0);
    }
}

// A child has its parent's thread that forked, and a lock of its own that this thread holds as in the parent.
TEST(rwlock, OfAReaderThatForksIsTheChildsToGiveBack) {
    for (int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                     PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
        made_rwlock made(kind);
        pthread_rwlock_t *lock = &made.lock;
        ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
        child_process child([&] {
            return told_to_others(lock) == read_locked && pthread_rwlock_unlock(lock) == 0 &&
                   told_to_others(lock) == free_lock && pthread_rwlock_wrlock(lock) == 0 &&
                   told_to_others(lock) == write_locked && pthread_rwlock_unlock(lock) == 0;
        });
        EXPECT_TRUE(child.succeeds());
        EXPECT_EQ(told_to_others(lock), read_locked) << "the parent's is another lock";
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    }
}

// A reader may lock it again even though a writer waits: else the two would wait for each other.
class every_recursive_kind : public every_kind {};
INSTANTIATE_TEST_SUITE_P(rwlock, every_recursive_kind,
                         testing::Values(kind{"PreferReader", PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_PROCESS_PRIVATE},
                                         kind{"PreferWriter", PTHREAD_RWLOCK_PREFER_WRITER_NP, PTHREAD_PROCESS_PRIVATE},
                                         kind{"Shared", PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_SHARED}),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(every_recursive_kind, AReaderMayReadAgainWhileAWriterWaits) {
    for (const request &how : every_read) {
        ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
        team writer;
        writer.add([&] {
            EXPECT_EQ(pthread_rwlock_wrlock(lock), 0);
            EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        });
        a_short_while();
        EXPECT_EQ(ask(how, lock, far_away_ms), 0) << how.name;
        EXPECT_EQ(pthread_rwlock_tryrdlock(lock), 0);
        for (int level = 0; level < 3; level++)
            ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    }
    EXPECT_EQ(told_to_others(lock), free_lock);
}

class nonrecursive_kind : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(rwlock, nonrecursive_kind, testing::Values(false, true),
                         [](const auto &info) { return std::string(info.param ? "ByInitialiser" : "ByAttribute"); });

TEST_P(nonrecursive_kind, AWaitingWriterHoldsNewReadersBack) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    if (!GetParam())
        made_rwlock::init(&lock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, PTHREAD_PROCESS_PRIVATE);
    std::atomic<int> writers = 0, readers = 0;
    ASSERT_EQ(pthread_rwlock_rdlock(&lock), 0);
    team others;
    others.add([&] {
        EXPECT_EQ(pthread_rwlock_wrlock(&lock), 0);
        EXPECT_EQ(readers, 0) << "readers that came later are inside later";
        writers++;
        EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
    });
    // The writer waits from the moment that readers are refused.
    EXPECT_TRUE(eventually([&] {
        int told = pthread_rwlock_tryrdlock(&lock);
        if (told == 0)
            pthread_rwlock_unlock(&lock);
        return told == EBUSY;
    }));
    for (int i = 0; i < 3; i++)
        others.add([&] {
            EXPECT_EQ(pthread_rwlock_rdlock(&lock), 0);
            EXPECT_EQ(writers, 1);
            readers++;
            EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
        });
    timespec at = from_now(CLOCK_REALTIME, 20);
    EXPECT_EQ(pthread_rwlock_timedrdlock(&lock, &at), ETIMEDOUT);
    EXPECT_EQ(readers, 0);
    EXPECT_EQ(writers, 0);
    ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
    others.join();
    EXPECT_EQ(readers, 3);
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

// Three readers and then a writer come while another writer is inside, each with so long to come where it waits. Says
// how many readers were inside before the writer.
int readers_before_a_waiting_writer(pthread_rwlock_t &lock, std::chrono::milliseconds pause) {
    std::atomic<bool> writer_was_inside = false;
    std::atomic<int> early = 0;
    EXPECT_EQ(pthread_rwlock_wrlock(&lock), 0);
    team readers(3, [&](int member) {
        EXPECT_EQ(ask(every_read[member], &lock, far_away_ms), 0);
        early += !writer_was_inside;
        EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
    });
    std::this_thread::sleep_for(pause);
    team writer;
    writer.add([&] {
        EXPECT_EQ(pthread_rwlock_wrlock(&lock), 0);
        writer_was_inside = true;
        EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
    });
    std::this_thread::sleep_for(pause);
    EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
    writer.join();
    readers.join();
    return early;
}

// Also those readers that came before it, while another writer was inside. Tried again, with more time, since readers
// may go first when the machine has not let the writer come yet.
TEST_P(nonrecursive_kind, AWaitingWriterIsInsideBeforeReadersThatWait) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    if (!GetParam())
        made_rwlock::init(&lock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, PTHREAD_PROCESS_PRIVATE);
    int early = -1;
    for (int ms = 20; ms <= 1280 && early != 0; ms *= 4)
        early = readers_before_a_waiting_writer(lock, std::chrono::milliseconds(ms));
    EXPECT_EQ(early, 0);
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

TEST(rwlock, OfTheStaticInitialisersWorks) {
    static pthread_rwlock_t zeroed; // what PTHREAD_RWLOCK_INITIALIZER makes
    pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
    pthread_rwlock_t nonrecursive = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    for (pthread_rwlock_t *lock : {&zeroed, &plain, &nonrecursive}) {
        EXPECT_EQ(told_to_others(lock), free_lock);
        ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
        EXPECT_EQ(told_to_others(lock), read_locked);
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
        ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
        EXPECT_EQ(told_to_others(lock), write_locked);
        ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
        EXPECT_EQ(pthread_rwlock_destroy(lock), 0);
    }
}

TEST(rwlock, WithoutAttributesIsOfTheDefaultKind) {
    pthread_rwlock_t lock;
    std::memset(static_cast<void *>(&lock), -1, sizeof(lock));
    ASSERT_EQ(pthread_rwlock_init(&lock, nullptr), 0);
    EXPECT_EQ(told_to_others(&lock), free_lock);
    ASSERT_EQ(pthread_rwlock_wrlock(&lock), 0);
    EXPECT_EQ(told_to_others(&lock), write_locked);
    ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

TEST(rwlock, AttributesSayWhatTheyWereSetTo) {
    pthread_rwlockattr_t attributes;
    ASSERT_EQ(pthread_rwlockattr_init(&attributes), 0);
    int value = -1;
    EXPECT_EQ(pthread_rwlockattr_getkind_np(&attributes, &value), 0);
    EXPECT_EQ(value, PTHREAD_RWLOCK_DEFAULT_NP);
    EXPECT_EQ(pthread_rwlockattr_getpshared(&attributes, &value), 0);
    EXPECT_EQ(value, PTHREAD_PROCESS_PRIVATE);
    EXPECT_EQ(pthread_rwlockattr_setkind_np(&attributes, 17), EINVAL);
    EXPECT_EQ(pthread_rwlockattr_setpshared(&attributes, 17), EINVAL);
    EXPECT_EQ(pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP), 0);
    EXPECT_EQ(pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
    EXPECT_EQ(pthread_rwlockattr_getkind_np(&attributes, &value), 0);
    EXPECT_EQ(value, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    EXPECT_EQ(pthread_rwlockattr_getpshared(&attributes, &value), 0);
    EXPECT_EQ(value, PTHREAD_PROCESS_SHARED);
    EXPECT_EQ(pthread_rwlockattr_destroy(&attributes), 0);
}

TEST(shared_rwlock, ExcludesAcrossProcesses) {
    struct shared {
        pthread_rwlock_t lock;
        std::atomic<int> readers_inside, writers_inside;
        long first, second;
    };
    for (int kind : {PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
        constexpr int rounds = 3000;
        shared_with_children<shared> page;
        made_rwlock::init(&page->lock, kind, PTHREAD_PROCESS_SHARED);
        auto work = [&] {
            for (int round = 0; round < rounds; round++) {
                if (round % 4 == 0) {
                    if (pthread_rwlock_wrlock(&page->lock) || page->writers_inside++ || page->readers_inside ||
                        page->first++ != page->second++)
                        return false;
                    page->writers_inside--;
                } else {
                    if (pthread_rwlock_rdlock(&page->lock) || page->writers_inside || page->first != page->second)
                        return false;
                    page->readers_inside++;
                    page->readers_inside--;
                }
                if (pthread_rwlock_unlock(&page->lock))
                    return false;
            }
            return true;
        };
        EXPECT_TRUE(succeeds_here_and_in(3, work));
        EXPECT_EQ(page->first, rounds);
        EXPECT_EQ(page->second, rounds);
        EXPECT_EQ(pthread_rwlock_destroy(&page->lock), 0);
    }
}

TEST(shared_rwlock, WakesWaitersOfOtherProcesses) {
    struct shared {
        pthread_rwlock_t lock;
        std::atomic<int> arriving, been;
    };
    shared_with_children<shared> page;
    made_rwlock::init(&page->lock, PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_SHARED);
    ASSERT_EQ(pthread_rwlock_wrlock(&page->lock), 0);
    auto wait_for_it = [&](const request &how) {
        return [&] {
            page->arriving++;
            bool got = ask(how, &page->lock, far_away_ms) == 0;
            page->been++;
            return got && pthread_rwlock_unlock(&page->lock) == 0;
        };
    };
    child_process reader(wait_for_it(every_read[0])), timed_reader(wait_for_it(every_read[3]));
    child_process writer(wait_for_it(every_write[0])), timed_writer(wait_for_it(every_write[1]));
    EXPECT_TRUE(eventually([&] { return page->arriving == 4; }));
    a_short_while();
    EXPECT_EQ(page->been, 0);
    ASSERT_EQ(pthread_rwlock_unlock(&page->lock), 0);
    for (child_process *child : {&reader, &timed_reader, &writer, &timed_writer})
        EXPECT_TRUE(child->succeeds());
    EXPECT_EQ(told_to_others(&page->lock), free_lock);
    EXPECT_EQ(pthread_rwlock_destroy(&page->lock), 0);
}

} // namespace
} // namespace holdfast::test
