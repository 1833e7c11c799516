// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_mutex_*: types, errors, attributes, deadlines.
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

timespec from_now(clockid_t clock, long ms) {
    timespec at{};
    clock_gettime(clock, &at);
    at.tv_nsec += ms * 1'000'000;
    at.tv_sec += at.tv_nsec / 1'000'000'000;
    at.tv_nsec %= 1'000'000'000;
    return at;
}

constexpr timespec long_ago = {.tv_sec = 1, .tv_nsec = 0};
constexpr timespec impossible = {.tv_sec = 1, .tv_nsec = 1'000'000'000};

struct made_mutex {
    pthread_mutex_t mutex;
    explicit made_mutex(int type, int robust = PTHREAD_MUTEX_STALLED, int protocol = PTHREAD_PRIO_NONE,
                        int shared = PTHREAD_PROCESS_PRIVATE) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        EXPECT_EQ(pthread_mutexattr_settype(&attributes, type), 0);
        EXPECT_EQ(pthread_mutexattr_setrobust(&attributes, robust), 0);
        EXPECT_EQ(pthread_mutexattr_setprotocol(&attributes, protocol), 0);
        EXPECT_EQ(pthread_mutexattr_setpshared(&attributes, shared), 0);
        EXPECT_EQ(pthread_mutex_init(&mutex, &attributes), 0);
        pthread_mutexattr_destroy(&attributes);
    }
    ~made_mutex() { EXPECT_EQ(pthread_mutex_destroy(&mutex), 0); }
};

template <class Body>
void in_thread(Body body) {
    std::thread(body).join();
}

class every_type : public testing::TestWithParam<int> {
protected:
    made_mutex made{GetParam()};
    pthread_mutex_t *mutex = &made.mutex;
};

TEST_P(every_type, ExcludesAndIsFreeAfterUnlock) {
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    in_thread([this] { EXPECT_EQ(pthread_mutex_trylock(mutex), EBUSY); });
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
    in_thread([this] {
        EXPECT_EQ(pthread_mutex_trylock(mutex), 0);
        EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    });
}

TEST_P(every_type, CountsRight) {
    constexpr int threads = 6, rounds = 5000;
    long first = 0, second = 0;
    std::vector<std::thread> team;
    for (int i = 0; i < threads; i++)
        team.emplace_back([&, i] {
            for (int round = 0; round < rounds; round++) {
                if (i % 3 == 1) {
                    while (pthread_mutex_trylock(mutex) != 0)
                        sched_yield();
                } else if (i % 3 == 2) {
                    timespec at = from_now(CLOCK_REALTIME, 20'000);
                    ASSERT_EQ(pthread_mutex_timedlock(mutex, &at), 0);
                } else {
                    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
                }
                ASSERT_EQ(first, second);
                first++;
                second++;
                ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
            }
        });
    for (auto &thread : team)
        thread.join();
    EXPECT_EQ(first, long(threads) * rounds);
}

TEST_P(every_type, TimedWaitEndsAtItsDeadline) {
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    in_thread([this] {
        timespec at = from_now(CLOCK_REALTIME, 30);
        EXPECT_EQ(pthread_mutex_timedlock(mutex, &at), ETIMEDOUT);
        timespec now{};
        clock_gettime(CLOCK_REALTIME, &now);
        EXPECT_TRUE(now.tv_sec > at.tv_sec || now.tv_nsec >= at.tv_nsec);
        for (clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
            at = from_now(clock, 10);
            EXPECT_EQ(pthread_mutex_clocklock(mutex, clock, &at), ETIMEDOUT);
        }
        EXPECT_EQ(pthread_mutex_timedlock(mutex, &long_ago), ETIMEDOUT);
        EXPECT_EQ(pthread_mutex_timedlock(mutex, &impossible), EINVAL);
        EXPECT_EQ(pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &long_ago), EINVAL);
    });
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
}

TEST_P(every_type, TimedLockOfAFreeMutexIgnoresTheDeadline) {
    EXPECT_EQ(pthread_mutex_timedlock(mutex, &long_ago), 0);
    EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    EXPECT_EQ(pthread_mutex_timedlock(mutex, &impossible), 0);
    EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
}

TEST_P(every_type, LeavesErrnoAlone) {
    errno = 1234;
    pthread_mutex_lock(mutex);
    in_thread([this] {
        errno = 77;
        timespec at = from_now(CLOCK_REALTIME, 5);
        pthread_mutex_timedlock(mutex, &at);
        EXPECT_EQ(errno, 77);
    });
    pthread_mutex_unlock(mutex);
    EXPECT_EQ(errno, 1234);
}

TEST_P(every_type, IsBusyToDestroyWhileHeld) {
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    EXPECT_EQ(pthread_mutex_destroy(mutex), EBUSY);
    ASSERT_EQ(pthread_mutex_unlock(mutex), 0);
}

INSTANTIATE_TEST_SUITE_P(mutex, every_type,
                         testing::Values(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                         PTHREAD_MUTEX_ADAPTIVE_NP));

TEST(recursive_mutex, IsHeldUntilEachLevelIsGivenBack) {
    made_mutex made(PTHREAD_MUTEX_RECURSIVE);
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
    made_mutex made(PTHREAD_MUTEX_RECURSIVE);
    ASSERT_EQ(pthread_mutex_lock(&made.mutex), 0);
    made.mutex.__data.__count = UINT_MAX;
    EXPECT_EQ(pthread_mutex_lock(&made.mutex), EAGAIN);
    EXPECT_EQ(pthread_mutex_trylock(&made.mutex), EAGAIN);
    made.mutex.__data.__count = 1;
    ASSERT_EQ(pthread_mutex_unlock(&made.mutex), 0);
}

TEST(recursive_mutex, IsItsOwnersToUnlock) {
    made_mutex made(PTHREAD_MUTEX_RECURSIVE);
    EXPECT_EQ(pthread_mutex_unlock(&made.mutex), EPERM);
    ASSERT_EQ(pthread_mutex_lock(&made.mutex), 0);
    in_thread([&] { EXPECT_EQ(pthread_mutex_unlock(&made.mutex), EPERM); });
    ASSERT_EQ(pthread_mutex_unlock(&made.mutex), 0);
}

TEST(errorcheck_mutex, FindsMistakes) {
    made_mutex made(PTHREAD_MUTEX_ERRORCHECK);
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

TEST(robust_mutex, TellsThatItsOwnerDied) {
    made_mutex made(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    in_thread([&] { ASSERT_EQ(pthread_mutex_lock(&made.mutex), 0); });
    EXPECT_EQ(pthread_mutex_lock(&made.mutex), EOWNERDEAD);
    EXPECT_EQ(pthread_mutex_consistent(&made.mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(&made.mutex), 0);
    in_thread([&] { ASSERT_EQ(pthread_mutex_lock(&made.mutex), 0); });
    EXPECT_EQ(pthread_mutex_trylock(&made.mutex), EOWNERDEAD);
    EXPECT_EQ(pthread_mutex_unlock(&made.mutex), 0);
    EXPECT_EQ(pthread_mutex_lock(&made.mutex), ENOTRECOVERABLE);
}

TEST(priority_mutex, InheritingAndProtectedOnesWork) {
    made_mutex inheriting(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
    ASSERT_EQ(pthread_mutex_lock(&inheriting.mutex), 0);
    EXPECT_EQ(pthread_mutex_lock(&inheriting.mutex), EDEADLK);
    in_thread([&] { EXPECT_EQ(pthread_mutex_trylock(&inheriting.mutex), EBUSY); });
    ASSERT_EQ(pthread_mutex_unlock(&inheriting.mutex), 0);
}

TEST(shared_mutex, ExcludesAcrossProcesses) {
    struct shared {
        pthread_mutex_t mutex;
        long first, second;
    };
    auto *page =
        static_cast<shared *>(mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(page, MAP_FAILED);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&page->mutex, &attributes);
    auto work = [page] {
        for (int i = 0; i < 20000; i++) {
            pthread_mutex_lock(&page->mutex);
            if (page->first++ != page->second++)
                _exit(1);
            pthread_mutex_unlock(&page->mutex);
        }
    };
    pid_t children[3];
    for (pid_t &child : children) {
        child = fork();
        if (child == 0) {
            work();
            _exit(0);
        }
    }
    work();
    for (pid_t child : children) {
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(page->first, 80000);
    EXPECT_EQ(page->second, 80000);
    munmap(page, sizeof(shared));
}

// The next owner may destroy and free a mutex while the one before is still inside unlock.
TEST(memory, MayBeFreedByTheNextOwner) {
    for (int round = 0; round < 2000; round++) {
        auto *mutex = new pthread_mutex_t;
        pthread_mutex_init(mutex, nullptr);
        pthread_mutex_lock(mutex);
        std::thread last([mutex] {
            pthread_mutex_lock(mutex);
            pthread_mutex_unlock(mutex);
            EXPECT_EQ(pthread_mutex_destroy(mutex), 0);
            std::memset(mutex, -1, sizeof(*mutex));
            delete mutex;
        });
        if (round % 2)
            sched_yield();
        pthread_mutex_unlock(mutex);
        last.join();
    }
}

} // namespace
