// SPDX-License-Identifier: MIT OR Apache-2.0
// A mutex of any kind that POSIX or glibc knows.
#pragma once

#include <cstring>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>

namespace holdfast::test {

struct mutex_kind {
    const char *name = "";
    int type = PTHREAD_MUTEX_NORMAL;
    int robust = PTHREAD_MUTEX_STALLED;
    int protocol = PTHREAD_PRIO_NONE;
    int shared = PTHREAD_PROCESS_PRIVATE;
};

// Priority-protected ones are missing: with a ceiling above the caller's priority they need real-time scheduling.
inline const mutex_kind every_mutex_kind[] = {
    {.name = "Normal", .type = PTHREAD_MUTEX_NORMAL},
    {.name = "Recursive", .type = PTHREAD_MUTEX_RECURSIVE},
    {.name = "Errorcheck", .type = PTHREAD_MUTEX_ERRORCHECK},
    {.name = "Adaptive", .type = PTHREAD_MUTEX_ADAPTIVE_NP},
    {.name = "Robust", .robust = PTHREAD_MUTEX_ROBUST},
    {.name = "RobustRecursive", .type = PTHREAD_MUTEX_RECURSIVE, .robust = PTHREAD_MUTEX_ROBUST},
    {.name = "Inheriting", .protocol = PTHREAD_PRIO_INHERIT},
    {.name = "InheritingRobust", .robust = PTHREAD_MUTEX_ROBUST, .protocol = PTHREAD_PRIO_INHERIT},
    {.name = "InheritingErrorcheck", .type = PTHREAD_MUTEX_ERRORCHECK, .protocol = PTHREAD_PRIO_INHERIT},
    {.name = "Shared", .shared = PTHREAD_PROCESS_SHARED},
    {.name = "SharedRobust", .robust = PTHREAD_MUTEX_ROBUST, .shared = PTHREAD_PROCESS_SHARED},
};

struct made_mutex {
    pthread_mutex_t mutex;
    explicit made_mutex(const mutex_kind &kind) { init(&mutex, kind); }
    made_mutex(const made_mutex &) = delete;
    made_mutex &operator=(const made_mutex &) = delete;
    ~made_mutex() { EXPECT_EQ(pthread_mutex_destroy(&mutex), 0); }

    static void init(pthread_mutex_t *mutex, const mutex_kind &kind) {
        pthread_mutexattr_t attributes;
        EXPECT_EQ(pthread_mutexattr_init(&attributes), 0);
        EXPECT_EQ(pthread_mutexattr_settype(&attributes, kind.type), 0);
        EXPECT_EQ(pthread_mutexattr_setrobust(&attributes, kind.robust), 0);
        EXPECT_EQ(pthread_mutexattr_setprotocol(&attributes, kind.protocol), 0);
        EXPECT_EQ(pthread_mutexattr_setpshared(&attributes, kind.shared), 0);
        std::memset(static_cast<void *>(mutex), -1, sizeof(*mutex));
        EXPECT_EQ(pthread_mutex_init(mutex, &attributes), 0);
        EXPECT_EQ(pthread_mutexattr_destroy(&attributes), 0);
    }
};

// What another thread is told that tries. It gives back what it gets.
inline int told_to_another(pthread_mutex_t *mutex) {
    int told = -1;
    std::thread([&] {
        told = pthread_mutex_trylock(mutex);
        if (told == 0) {
            EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
        }
    }).join();
    return told;
}

} // namespace holdfast::test
