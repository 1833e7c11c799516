// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_mutex_*: types, errors, attributes, deadlines, owners that die, memory and processes.
//
// Shown able to fail: with LD_PRELOAD of broken_mutex_trylock.c, broken_mutex_unlock.c and broken_mutex_owner_dead.c
// (posix/soak) it fails, aborts or is stuck.
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <string>

#include "deadline.hpp"
#include "made_mutex.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

// One way to lock that waits.
struct request {
    const char *name;
    int (*ask)(pthread_mutex_t *mutex, const timespec *at);
    bool timed;
    clockid_t clock;
};

constexpr request every_request[] = {
    {"lock", [](pthread_mutex_t *mutex, const timespec *) { return pthread_mutex_lock(mutex); }, false, CLOCK_REALTIME},
    {"timedlock", pthread_mutex_timedlock, true, CLOCK_REALTIME},
    {"clocklock, real time",
     [](pthread_mutex_t *mutex, const timespec *at) { return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, at); },
     true, CLOCK_REALTIME},
    {"clocklock, monotonic",
     [](pthread_mutex_t *mutex, const timespec *at) { return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, at); },
     true, CLOCK_MONOTONIC},
};

int ask(const request &how, pthread_mutex_t *mutex, long ms = far_away_ms) {
    timespec at = from_now(how.clock, ms);
    return how.ask(mutex, &at);
}

class every_kind : public testing::TestWithParam<mutex_kind> {
protected:
    made_mutex made{GetParam()};
    pthread_mutex_t *mutex = &made.mutex;
};

INSTANTIATE_TEST_SUITE_P(mutex, every_kind, testing::ValuesIn(every_mutex_kind),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(every_kind, ExcludesAndIsFreeAfterUnlock) {
    for (const request &how : every_request) {
        ASSERT_EQ(ask(how, mutex), 0) << how.name;
        EXPECT_EQ(told_to_another(mutex), EBUSY) << how.name;
        ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
        EXPECT_EQ(told_to_another(mutex), 0) << how.name;
    }
    ASSERT_EQ(pthread_mutex_trylock(mutex), 0);
    EXPECT_EQ(told_to_another(mutex), EBUSY);
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
    EXPECT_EQ(told_to_another(mutex), 0);
}

TEST_P(every_kind, CountsRight) {
    constexpr int threads = 6, rounds = 1500;
    long first = 0, second = 0;
    team all(threads, [&](int member) {
        for (int round = 0; round < rounds; round++) {
            if (member == 5) {
                while (pthread_mutex_trylock(mutex) != 0)
                    sched_yield();
            } else {
                EXPECT_EQ(ask(every_request[member % 4], mutex), 0);
            }
            EXPECT_EQ(first++, second++);
            EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
        }
    });
    all.join();
    EXPECT_EQ(first, threads * rounds);
}

TEST_P(every_kind, AWaiterGetsInAfterALongSection) {
    constexpr int waiters = 8;
    std::atomic<int> been = 0;
    int inside = 0;
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    team all(waiters, [&](int member) {
        EXPECT_EQ(ask(every_request[member % 4], mutex), 0);
        EXPECT_EQ(inside++, 0);
        sched_yield();
        EXPECT_EQ(--inside, 0);
        been++;
        EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    });
    a_short_while();
    EXPECT_EQ(been, 0);
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
    all.join();
    EXPECT_EQ(been, waiters);
}

TEST_P(every_kind, TimedWaitEndsAtItsDeadline) {
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    in_thread([this] {
        for (const request &how : every_request) {
            if (!how.timed)
                continue;
            timespec at = from_now(how.clock, 15);
            EXPECT_EQ(how.ask(mutex, &at), ETIMEDOUT) << how.name;
            EXPECT_TRUE(has_passed(how.clock, at)) << how.name;
            EXPECT_EQ(how.ask(mutex, &long_ago), ETIMEDOUT) << how.name;
            // The kernel, which waits for priority-inheriting ones, does not know times before 1970.
            const bool kernels = GetParam().protocol == PTHREAD_PRIO_INHERIT;
            EXPECT_EQ(how.ask(mutex, &before_the_epoch), kernels ? EINVAL : ETIMEDOUT) << how.name;
        }
    });
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
    EXPECT_EQ(told_to_another(mutex), 0) << "who gave up has left nothing behind";
}

TEST_P(every_kind, AnImpossibleDeadlineIsRefused) {
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    in_thread([this] {
        for (const request &how : every_request)
            for (const timespec &bad : {impossible, impossible_too})
                if (how.timed) {
                    EXPECT_EQ(how.ask(mutex, &bad), EINVAL) << how.name;
                }
        // Both are wrong with this one, and glibc looks at the seconds first.
        for (const request &how : every_request)
            if (how.timed && GetParam().protocol == PTHREAD_PRIO_NONE && GetParam().robust == PTHREAD_MUTEX_STALLED) {
                EXPECT_EQ(how.ask(mutex, &before_the_epoch_and_impossible), ETIMEDOUT) << how.name;
            }
    });
    EXPECT_EQ(told_to_another(mutex), EBUSY);
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
}

TEST_P(every_kind, AClockThatNobodyCanWaitByIsRefused) {
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    in_thread([this] {
        for (clockid_t clock : {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, clockid_t(1234), clockid_t(-1)}) {
            timespec at = from_now(CLOCK_MONOTONIC, far_away_ms);
            EXPECT_EQ(pthread_mutex_clocklock(mutex, clock, &at), EINVAL) << clock;
        }
    });
    EXPECT_EQ(told_to_another(mutex), EBUSY);
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
}

TEST_P(every_kind, AFreeOneIsTakenWhateverTheDeadlineWas) {
    for (const request &how : every_request)
        for (const timespec &past : {long_ago, before_the_epoch, impossible, impossible_too}) {
            EXPECT_EQ(how.ask(mutex, &past), 0) << how.name;
            EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
        }
}

TEST_P(every_kind, OthersGoOnAfterSomeGaveUp) {
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    std::atomic<int> been = 0;
    team patient(3, [&](int member) {
        EXPECT_EQ(ask(every_request[member], mutex), 0);
        been++;
        EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    });
    team impatient(4, [&](int member) { EXPECT_EQ(ask(every_request[1 + member % 3], mutex, 5 * member), ETIMEDOUT); });
    impatient.join();
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
    patient.join();
    EXPECT_EQ(been, 3);
    EXPECT_EQ(told_to_another(mutex), 0);
}

TEST_P(every_kind, SignalsDoNotShowInAWait) {
    counting_handler handler;
    for (const request &how : every_request) {
        ASSERT_EQ(pthread_mutex_lock(mutex), 0);
        std::atomic<bool> got = false, may_end = false;
        team waiting;
        waiting.add([&] {
            errno = 77;
            EXPECT_EQ(ask(how, mutex), 0) << how.name;
            EXPECT_EQ(errno, 77) << how.name;
            got = true;
            EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
            while (!may_end)
                sched_yield();
        });
        handler.interrupt(waiting.handle(0), 5);
        EXPECT_FALSE(got) << how.name;
        ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
        EXPECT_TRUE(eventually([&] { return got.load(); })) << how.name;
        may_end = true;
    }
}

TEST_P(every_kind, IsNoCancellationPoint) {
    for (const request &how : every_request) {
        ASSERT_EQ(pthread_mutex_lock(mutex), 0);
        std::atomic<bool> arriving = false, got = false;
        team waiting;
        waiting.add([&] {
            arriving = true;
            EXPECT_EQ(ask(how, mutex), 0) << how.name;
            EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
            got = true;
            for (;;)
                pthread_testcancel();
        });
        EXPECT_TRUE(eventually([&] { return arriving.load(); }));
        a_short_while();
        ASSERT_EQ(pthread_cancel(waiting.handle(0)), 0);
        ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
        waiting.join();
        EXPECT_TRUE(got) << how.name;
    }
}

TEST_P(every_kind, LeavesErrnoAlone) {
    errno = 1234;
    pthread_mutex_lock(mutex);
    in_thread([this] {
        errno = 77;
        for (const request &how : every_request)
            if (how.timed)
                ask(how, mutex, 2);
        pthread_mutex_trylock(mutex);
        EXPECT_EQ(errno, 77);
    });
    pthread_mutex_unlock(mutex);
    EXPECT_EQ(errno, 1234);
}

// glibc lets robust ones be destroyed by a thread that holds them.
TEST_P(every_kind, IsBusyToDestroyWhileHeld) {
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    if (GetParam().robust == PTHREAD_MUTEX_STALLED) {
        EXPECT_EQ(pthread_mutex_destroy(mutex), EBUSY);
        EXPECT_EQ(told_to_another(mutex), EBUSY) << "it is there still";
    }
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
    EXPECT_EQ(pthread_mutex_destroy(mutex), 0);
    made_mutex::init(mutex, GetParam());
}

TEST_P(every_kind, MayBeDestroyedAndMadeAgain) {
    for (int round = 0; round < 3; round++) {
        ASSERT_EQ(pthread_mutex_lock(mutex), 0);
        ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
        ASSERT_EQ(pthread_mutex_destroy(mutex), 0);
        made_mutex::init(mutex, GetParam());
        EXPECT_EQ(told_to_another(mutex), 0);
    }
}

// The next owner may destroy and free a mutex while the one before is still inside unlock.
TEST_P(every_kind, MayBeFreedByTheNextOwner) {
    for (int round = 0; round < 200; round++) {
        auto *own = new pthread_mutex_t;
        made_mutex::init(own, GetParam());
        ASSERT_EQ(pthread_mutex_lock(own), 0);
        team last;
        last.add([own, round] {
            EXPECT_EQ(ask(every_request[round % 4], own), 0);
            EXPECT_EQ(pthread_mutex_unlock(own), 0);
            EXPECT_EQ(pthread_mutex_destroy(own), 0);
            std::memset(static_cast<void *>(own), -1, sizeof(*own));
            delete own;
        });
        if (round % 2)
            sched_yield();
        ASSERT_EQ(pthread_mutex_unlock(own), 0);
    }
}

// What the owner is told that asks again: of the types that do not care only the calls that end.
TEST_P(every_kind, TellsItsOwnerThatAsksAgain) {
    const bool inherits = GetParam().protocol == PTHREAD_PRIO_INHERIT;
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    int levels = 1;
    switch (GetParam().type) {
    case PTHREAD_MUTEX_RECURSIVE:
        EXPECT_EQ(pthread_mutex_trylock(mutex), 0);
        levels++;
        for (const request &how : every_request) {
            EXPECT_EQ(how.ask(mutex, &long_ago), 0) << how.name;
            levels++;
        }
        break;
    case PTHREAD_MUTEX_ERRORCHECK:
        EXPECT_EQ(pthread_mutex_trylock(mutex), inherits ? EDEADLK : EBUSY) << "as glibc says";
        for (const request &how : every_request)
            EXPECT_EQ(how.ask(mutex, &long_ago), EDEADLK) << how.name;
        break;
    default:
        EXPECT_EQ(pthread_mutex_trylock(mutex), EBUSY);
        for (const request &how : every_request)
            if (how.timed) {
                EXPECT_EQ(ask(how, mutex, 5), ETIMEDOUT) << how.name;
            }
    }
    for (; levels > 0; levels--) {
        EXPECT_EQ(told_to_another(mutex), EBUSY);
        EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    }
    EXPECT_EQ(told_to_another(mutex), 0);
}

TEST(recursive_mutex, IsHeldUntilEachLevelIsGivenBack) {
    made_mutex made({.type = PTHREAD_MUTEX_RECURSIVE});
    for (int level = 0; level < 100; level++)
        ASSERT_EQ(level % 2 ? pthread_mutex_lock(&made.mutex) : pthread_mutex_trylock(&made.mutex), 0);
    ASSERT_EQ(pthread_mutex_timedlock(&made.mutex, &long_ago), 0);
    for (int level = 0; level < 101; level++) {
        in_thread([&] { EXPECT_EQ(pthread_mutex_trylock(&made.mutex), EBUSY); });
        ASSERT_EQ(pthread_mutex_unlock(&made.mutex), 0);
    }
    in_thread([&] {
        EXPECT_EQ(pthread_mutex_trylock(&made.mutex), 0);
        EXPECT_EQ(pthread_mutex_unlock(&made.mutex), 0);
    });
}

TEST(recursive_mutex, HasALargestDepth) {
    made_mutex made({.type = PTHREAD_MUTEX_RECURSIVE});
    ASSERT_EQ(pthread_mutex_lock(&made.mutex), 0);
    made.mutex.__data.__count = UINT_MAX;
    EXPECT_EQ(pthread_mutex_lock(&made.mutex), EAGAIN);
    EXPECT_EQ(pthread_mutex_trylock(&made.mutex), EAGAIN);
    made.mutex.__data.__count = 1;
    ASSERT_EQ(pthread_mutex_unlock(&made.mutex), 0);
}

TEST(recursive_mutex, IsItsOwnersToUnlock) {
    made_mutex made({.type = PTHREAD_MUTEX_RECURSIVE});
    EXPECT_EQ(pthread_mutex_unlock(&made.mutex), EPERM);
    ASSERT_EQ(pthread_mutex_lock(&made.mutex), 0);
    in_thread([&] { EXPECT_EQ(pthread_mutex_unlock(&made.mutex), EPERM); });
    ASSERT_EQ(pthread_mutex_unlock(&made.mutex), 0);
}

TEST(errorcheck_mutex, FindsMistakes) {
    made_mutex made({.type = PTHREAD_MUTEX_ERRORCHECK});
    EXPECT_EQ(pthread_mutex_unlock(&made.mutex), EPERM) << "not locked";
    ASSERT_EQ(pthread_mutex_lock(&made.mutex), 0);
    EXPECT_EQ(pthread_mutex_lock(&made.mutex), EDEADLK);
    EXPECT_EQ(pthread_mutex_timedlock(&made.mutex, &long_ago), EDEADLK);
    EXPECT_EQ(pthread_mutex_trylock(&made.mutex), EBUSY);
    in_thread([&] { EXPECT_EQ(pthread_mutex_unlock(&made.mutex), EPERM) << "another's"; });
    ASSERT_EQ(pthread_mutex_unlock(&made.mutex), 0);
}

TEST(static_initialiser, OfEachKindMakesThatKind) {
    pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    for (pthread_mutex_t *mutex : {&normal, &recursive, &errorcheck, &adaptive})
        ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    EXPECT_EQ(pthread_mutex_lock(&recursive), 0);
    EXPECT_EQ(pthread_mutex_lock(&errorcheck), EDEADLK);
    EXPECT_EQ(pthread_mutex_trylock(&normal), EBUSY);
    EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
    for (pthread_mutex_t *mutex : {&normal, &recursive, &errorcheck, &adaptive}) {
        ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
        ASSERT_EQ(pthread_mutex_destroy(mutex), 0);
    }
}

// --- owners that die

class every_robust_kind : public testing::TestWithParam<mutex_kind> {
protected:
    made_mutex made{GetParam()};
    pthread_mutex_t *mutex = &made.mutex;

    void die_with_it() {
        in_thread([this] { EXPECT_EQ(pthread_mutex_lock(mutex), 0); });
    }
};

INSTANTIATE_TEST_SUITE_P(
    mutex, every_robust_kind,
    testing::Values(mutex_kind{.name = "Normal", .robust = PTHREAD_MUTEX_ROBUST},
                    mutex_kind{.name = "Recursive", .type = PTHREAD_MUTEX_RECURSIVE, .robust = PTHREAD_MUTEX_ROBUST},
                    mutex_kind{.name = "Errorcheck", .type = PTHREAD_MUTEX_ERRORCHECK, .robust = PTHREAD_MUTEX_ROBUST},
                    mutex_kind{.name = "Inheriting", .robust = PTHREAD_MUTEX_ROBUST, .protocol = PTHREAD_PRIO_INHERIT},
                    mutex_kind{.name = "Shared", .robust = PTHREAD_MUTEX_ROBUST, .shared = PTHREAD_PROCESS_SHARED}),
    [](const auto &info) { return std::string(info.param.name); });

TEST_P(every_robust_kind, TellsTheNextOwnerThatMayMakeItConsistent) {
    for (const request &how : every_request) {
        die_with_it();
        EXPECT_EQ(ask(how, mutex), EOWNERDEAD) << how.name;
        EXPECT_EQ(told_to_another(mutex), EBUSY) << "the next owner has it";
        EXPECT_EQ(pthread_mutex_consistent(mutex), 0);
        EXPECT_EQ(pthread_mutex_consistent(mutex), EINVAL) << "once is enough";
        EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
        EXPECT_EQ(told_to_another(mutex), 0);
    }
    die_with_it();
    EXPECT_EQ(pthread_mutex_trylock(mutex), EOWNERDEAD);
    EXPECT_EQ(pthread_mutex_consistent(mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
}

TEST_P(every_robust_kind, TellsItsWaitersWhenTheOwnerDies) {
    for (const request &how : every_request) {
        std::atomic<bool> held = false, may_die = false;
        team both;
        both.add([&] {
            EXPECT_EQ(pthread_mutex_lock(mutex), 0);
            held = true;
            while (!may_die)
                sched_yield();
        });
        EXPECT_TRUE(eventually([&] { return held.load(); }));
        both.add([&] {
            EXPECT_EQ(ask(how, mutex), EOWNERDEAD) << how.name;
            EXPECT_EQ(pthread_mutex_consistent(mutex), 0);
            EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
        });
        a_short_while();
        may_die = true;
    }
}

TEST_P(every_robust_kind, TellsTheNextOwnerAgainWhenThatOneDiesToo) {
    die_with_it();
    for (int generation = 0; generation < 3; generation++)
        in_thread([this] { EXPECT_EQ(pthread_mutex_lock(mutex), EOWNERDEAD); });
    EXPECT_EQ(pthread_mutex_lock(mutex), EOWNERDEAD);
    EXPECT_EQ(pthread_mutex_consistent(mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
}

TEST_P(every_robust_kind, IsLostToEverybodyWhenItWasNotMadeConsistent) {
    for (const request &waiters : every_request) {
        die_with_it();
        EXPECT_EQ(pthread_mutex_lock(mutex), EOWNERDEAD);
        // One: of more glibc 2.36 wakes the first only, and leaves the others to their deadlines.
        team waiter;
        waiter.add([&] { EXPECT_EQ(ask(waiters, mutex), ENOTRECOVERABLE) << waiters.name; });
        a_short_while();
        EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
        waiter.join();
        for (const request &how : every_request)
            EXPECT_EQ(ask(how, mutex), ENOTRECOVERABLE) << how.name;
        EXPECT_EQ(pthread_mutex_trylock(mutex), ENOTRECOVERABLE);
        EXPECT_EQ(pthread_mutex_destroy(mutex), 0);
        made_mutex::init(mutex, GetParam());
        EXPECT_EQ(told_to_another(mutex), 0) << "until it is made again";
    }
}

TEST_P(every_kind, IsInconsistentOnlyIfRobustAndItsOwnerDied) {
    EXPECT_EQ(pthread_mutex_consistent(mutex), EINVAL);
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    EXPECT_EQ(pthread_mutex_consistent(mutex), EINVAL);
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
}

// --- priorities

TEST(protected_mutex, RaisesItsOwnerToTheCeiling) {
    pthread_mutexattr_t attributes;
    ASSERT_EQ(pthread_mutexattr_init(&attributes), 0);
    ASSERT_EQ(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT), 0);
    ASSERT_EQ(pthread_mutexattr_setprioceiling(&attributes, 5), 0);
    pthread_mutex_t mutex;
    ASSERT_EQ(pthread_mutex_init(&mutex, &attributes), 0);
    ASSERT_EQ(pthread_mutexattr_destroy(&attributes), 0);
    int ceiling = 0;
    EXPECT_EQ(pthread_mutex_getprioceiling(&mutex, &ceiling), 0);
    EXPECT_EQ(ceiling, 5);
    EXPECT_EQ(pthread_mutex_lock(&mutex), EINVAL) << "not by a thread without real-time priority";
    in_thread([&] {
        sched_param priority{.sched_priority = 1};
        int told = pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
        if (told == EPERM)
            return; // this machine gives it to nobody; then nobody can lock it
        ASSERT_EQ(told, 0);
        int before = 0;
        EXPECT_EQ(pthread_mutex_setprioceiling(&mutex, 7, &before), 0);
        EXPECT_EQ(before, 5);
        for (const request &how : every_request) {
            ASSERT_EQ(ask(how, &mutex), 0) << how.name;
            sched_getparam(0, &priority);
            EXPECT_EQ(priority.sched_priority, 7) << how.name;
            EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
            EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
            sched_getparam(0, &priority);
            EXPECT_EQ(priority.sched_priority, 1) << how.name;
        }
        EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
        EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
        priority.sched_priority = 8;
        EXPECT_EQ(pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority), 0);
        EXPECT_EQ(pthread_mutex_lock(&mutex), EINVAL) << "above its ceiling";
        EXPECT_EQ(pthread_mutex_trylock(&mutex), EINVAL);
    });
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

TEST_P(every_kind, HasNoCeiling) {
    int ceiling = 0;
    EXPECT_EQ(pthread_mutex_getprioceiling(mutex, &ceiling), EINVAL);
    EXPECT_EQ(pthread_mutex_setprioceiling(mutex, 5, &ceiling), EINVAL);
    EXPECT_EQ(told_to_another(mutex), 0);
}

// --- attributes

TEST(mutex, AttributesSayWhatTheyWereSetTo) {
    pthread_mutexattr_t attributes;
    ASSERT_EQ(pthread_mutexattr_init(&attributes), 0);
    struct {
        int (*set)(pthread_mutexattr_t *, int);
        int (*get)(const pthread_mutexattr_t *, int *);
        int initial, other;
    } all[] = {
        {pthread_mutexattr_settype, pthread_mutexattr_gettype, PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_RECURSIVE},
        {pthread_mutexattr_setrobust, pthread_mutexattr_getrobust, PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST},
        {pthread_mutexattr_setprotocol, pthread_mutexattr_getprotocol, PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT},
        {pthread_mutexattr_setpshared, pthread_mutexattr_getpshared, PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}};
    for (const auto &one : all) {
        int value = -1;
        EXPECT_EQ(one.get(&attributes, &value), 0);
        EXPECT_EQ(value, one.initial);
        EXPECT_EQ(one.set(&attributes, 17), EINVAL);
        EXPECT_EQ(one.set(&attributes, one.other), 0);
        EXPECT_EQ(one.get(&attributes, &value), 0);
        EXPECT_EQ(value, one.other);
    }
    EXPECT_EQ(pthread_mutexattr_destroy(&attributes), 0);
}

TEST(mutex, WithoutAttributesIsNormal) {
    pthread_mutex_t mutex;
    std::memset(static_cast<void *>(&mutex), -1, sizeof(mutex));
    ASSERT_EQ(pthread_mutex_init(&mutex, nullptr), 0);
    ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
    EXPECT_EQ(told_to_another(&mutex), EBUSY);
    ASSERT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

// --- processes

class every_shared_kind : public testing::TestWithParam<mutex_kind> {};

INSTANTIATE_TEST_SUITE_P(
    mutex, every_shared_kind,
    testing::Values(
        mutex_kind{.name = "Normal", .shared = PTHREAD_PROCESS_SHARED},
        mutex_kind{.name = "Recursive", .type = PTHREAD_MUTEX_RECURSIVE, .shared = PTHREAD_PROCESS_SHARED},
        mutex_kind{.name = "Errorcheck", .type = PTHREAD_MUTEX_ERRORCHECK, .shared = PTHREAD_PROCESS_SHARED},
        mutex_kind{.name = "Adaptive", .type = PTHREAD_MUTEX_ADAPTIVE_NP, .shared = PTHREAD_PROCESS_SHARED},
        mutex_kind{.name = "Robust", .robust = PTHREAD_MUTEX_ROBUST, .shared = PTHREAD_PROCESS_SHARED},
        mutex_kind{.name = "Inheriting", .protocol = PTHREAD_PRIO_INHERIT, .shared = PTHREAD_PROCESS_SHARED},
        mutex_kind{.name = "InheritingRobust",
                   .robust = PTHREAD_MUTEX_ROBUST,
                   .protocol = PTHREAD_PRIO_INHERIT,
                   .shared = PTHREAD_PROCESS_SHARED}),
    [](const auto &info) { return std::string(info.param.name); });

struct shared_page {
    pthread_mutex_t mutex;
    std::atomic<int> arriving, been;
    long first, second;
};

TEST_P(every_shared_kind, ExcludesAcrossProcesses) {
    constexpr int rounds = 4000;
    shared_with_children<shared_page> page;
    made_mutex::init(&page->mutex, GetParam());
    auto work = [&] {
        for (int round = 0; round < rounds; round++)
            if (ask(every_request[round % 4], &page->mutex) || page->first++ != page->second++ ||
                pthread_mutex_unlock(&page->mutex))
                return false;
        return true;
    };
    EXPECT_TRUE(succeeds_here_and_in(3, work));
    EXPECT_EQ(page->first, 4 * rounds);
    EXPECT_EQ(page->second, 4 * rounds);
    EXPECT_EQ(pthread_mutex_destroy(&page->mutex), 0);
}

TEST_P(every_shared_kind, WakesWaitersOfOtherProcesses) {
    shared_with_children<shared_page> page;
    made_mutex::init(&page->mutex, GetParam());
    ASSERT_EQ(pthread_mutex_lock(&page->mutex), 0);
    auto wait_for_it = [&](const request &how) {
        return [&] {
            page->arriving++;
            bool got = ask(how, &page->mutex) == 0;
            page->been++;
            return got && pthread_mutex_unlock(&page->mutex) == 0;
        };
    };
    child_process one(wait_for_it(every_request[0])), two(wait_for_it(every_request[1]));
    child_process three(wait_for_it(every_request[2])), four(wait_for_it(every_request[3]));
    EXPECT_TRUE(eventually([&] { return page->arriving == 4; }));
    a_short_while();
    EXPECT_EQ(page->been, 0);
    ASSERT_EQ(pthread_mutex_unlock(&page->mutex), 0);
    for (child_process *child : {&one, &two, &three, &four})
        EXPECT_TRUE(child->succeeds());
    EXPECT_EQ(pthread_mutex_destroy(&page->mutex), 0);
}

TEST(shared_robust_mutex, TellsThatAProcessWasKilledWithIt) {
    for (const mutex_kind &kind :
         {mutex_kind{.robust = PTHREAD_MUTEX_ROBUST, .shared = PTHREAD_PROCESS_SHARED},
          mutex_kind{.type = PTHREAD_MUTEX_RECURSIVE, .robust = PTHREAD_MUTEX_ROBUST, .shared = PTHREAD_PROCESS_SHARED},
          mutex_kind{
              .robust = PTHREAD_MUTEX_ROBUST, .protocol = PTHREAD_PRIO_INHERIT, .shared = PTHREAD_PROCESS_SHARED}}) {
        shared_with_children<shared_page> page;
        made_mutex::init(&page->mutex, kind);
        for (int round = 0; round < 8; round++) {
            page->arriving = 0;
            child_process child([&] {
                pthread_mutex_lock(&page->mutex);
                page->arriving = 1;
                return pause() == 0;
            });
            EXPECT_TRUE(eventually([&] { return page->arriving == 1; }));
            team waiter;
            waiter.add([&] {
                EXPECT_EQ(ask(every_request[round % 4], &page->mutex), EOWNERDEAD);
                EXPECT_EQ(pthread_mutex_consistent(&page->mutex), 0);
                EXPECT_EQ(pthread_mutex_unlock(&page->mutex), 0);
            });
            if (round % 2)
                a_short_while();
            child.kill();
        }
        EXPECT_EQ(told_to_another(&page->mutex), 0);
        EXPECT_EQ(pthread_mutex_destroy(&page->mutex), 0);
    }
}

TEST(mutex, HeldByAThreadThatForksIsTheChildsToGiveBack) {
    for (int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ADAPTIVE_NP}) {
        made_mutex made({.type = type});
        ASSERT_EQ(pthread_mutex_lock(&made.mutex), 0);
        std::atomic<bool> got = false;
        team waiter; // in the parent only
        waiter.add([&] {
            EXPECT_EQ(pthread_mutex_lock(&made.mutex), 0);
            got = true;
            EXPECT_EQ(pthread_mutex_unlock(&made.mutex), 0);
        });
        a_short_while();
        child_process child([&] {
            return told_to_another(&made.mutex) == EBUSY && pthread_mutex_unlock(&made.mutex) == 0 &&
                   told_to_another(&made.mutex) == 0 && pthread_mutex_lock(&made.mutex) == 0 &&
                   told_to_another(&made.mutex) == EBUSY && pthread_mutex_unlock(&made.mutex) == 0;
        });
        EXPECT_TRUE(child.succeeds());
        EXPECT_FALSE(got) << "the parent's is another mutex";
        ASSERT_EQ(pthread_mutex_unlock(&made.mutex), 0);
    }
}

} // namespace
} // namespace holdfast::test
