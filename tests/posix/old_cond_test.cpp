// SPDX-License-Identifier: MIT OR Apache-2.0
// The condition variables of before glibc 2.3.2, on x86-64: bound by their version, as a program of 2003 is. glibc
// keeps a pointer in the first word of such an object and leaves the rest alone: there were three words at most.
//
// Shown able to fail: without old_cond.c (glibc's own take the mutex again uncounted) the last case aborts; with them
// at glibc's newer functions TouchesItsFirstWordAlone.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <pthread.h>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "deadline.hpp"
#include "threads_and_processes.hpp"

extern "C" {
int old_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes);
int old_cond_destroy(pthread_cond_t *cond);
int old_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int old_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const timespec *at);
int old_cond_signal(pthread_cond_t *cond);
int old_cond_broadcast(pthread_cond_t *cond);
}
__asm__(".symver old_cond_init, pthread_cond_init@GLIBC_2.2.5\n"
        ".symver old_cond_destroy, pthread_cond_destroy@GLIBC_2.2.5\n"
        ".symver old_cond_wait, pthread_cond_wait@GLIBC_2.2.5\n"
        ".symver old_cond_timedwait, pthread_cond_timedwait@GLIBC_2.2.5\n"
        ".symver old_cond_signal, pthread_cond_signal@GLIBC_2.2.5\n"
        ".symver old_cond_broadcast, pthread_cond_broadcast@GLIBC_2.2.5\n");

namespace holdfast::test {
namespace {

// An object of that time, and what stands behind it in a program's memory.
struct old_cond {
    void *words[3] = {};
    unsigned long behind[3] = {1, 2, 3};

    pthread_cond_t *get() { return reinterpret_cast<pthread_cond_t *>(this); }
};

TEST(old_cond, TouchesItsFirstWordAlone) {
    old_cond cond;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    EXPECT_EQ(old_cond_init(cond.get(), nullptr), 0);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    timespec at = from_now(CLOCK_REALTIME, 10);
    EXPECT_EQ(old_cond_timedwait(cond.get(), &mutex, &at), ETIMEDOUT);
    EXPECT_EQ(old_cond_signal(cond.get()), 0);
    EXPECT_EQ(old_cond_broadcast(cond.get()), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(cond.words[1], nullptr);
    EXPECT_EQ(cond.words[2], nullptr);
    for (unsigned long i = 0; i < 3; i++)
        EXPECT_EQ(cond.behind[i], i + 1);
    EXPECT_EQ(old_cond_destroy(cond.get()), 0);
}

TEST(old_cond, ComesBackWithTheMutex) {
    old_cond cond;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    EXPECT_EQ(old_cond_wait(cond.get(), &mutex), EPERM);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT_EQ(old_cond_timedwait(cond.get(), &mutex, &long_ago), ETIMEDOUT);
    EXPECT_EQ(pthread_mutex_lock(&mutex), EDEADLK);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
    EXPECT_EQ(old_cond_destroy(cond.get()), 0);
}

TEST(old_cond, TwoThreadsPlayThousandsOfRounds) {
    constexpr int rounds = 2000;
    old_cond sides[2];
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int ball = 0;
    team players(2, [&](int player) {
        for (int round = 0; round < rounds; round++) {
            EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
            while (ball % 2 != player)
                EXPECT_EQ(old_cond_wait(sides[player].get(), &mutex), 0);
            ball++;
            EXPECT_EQ(old_cond_signal(sides[1 - player].get()), 0);
            EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
        }
    });
    players.join();
    EXPECT_EQ(ball, 2 * rounds);
    for (old_cond &side : sides)
        EXPECT_EQ(old_cond_destroy(side.get()), 0);
}

// A waiter, and a thread that unlocks the mutex instruction by instruction (the processor's trap flag). After so many
// of them it wakes the waiter and goes on when that one sleeps on the mutex, or has it, or polls.
struct {
    old_cond cond;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<pid_t> waiter;
    std::atomic<bool> waits, has_come_back;
    int steps, wakes_after;
} unlocking;

bool sleeps_on_mutex() {
    std::string call;
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(unlocking.waiter) + "/syscall"), call);
    long number = 0;
    unsigned long word = 0;
    return std::sscanf(call.c_str(), "%ld 0x%lx", &number, &word) == 2 && number == SYS_futex &&
           word == reinterpret_cast<unsigned long>(&unlocking.mutex);
}

void step(int) {
    if (unlocking.steps++ != unlocking.wakes_after)
        return;
    old_cond_signal(unlocking.cond.get());
    for (int ms = 0; ms < 20 && !unlocking.has_come_back && !sleeps_on_mutex(); ms++)
        usleep(1000);
}

void wait_to_be_woken() {
    unlocking.waiter = static_cast<pid_t>(syscall(SYS_gettid));
    pthread_mutex_lock(&unlocking.mutex);
    unlocking.waits = true;
    EXPECT_EQ(old_cond_wait(unlocking.cond.get(), &unlocking.mutex), 0);
    unlocking.has_come_back = true;
    pthread_mutex_unlock(&unlocking.mutex);
}

TEST(old_cond, AWaiterThatTakesTheMutexAgainIsSeenAtEachInstructionOfUnlock) {
    struct sigaction action {};
    action.sa_handler = step;
    sigaction(SIGTRAP, &action, nullptr);
    for (unlocking.wakes_after = 0;; unlocking.wakes_after++) {
        unlocking.steps = 0;
        unlocking.waits = unlocking.has_come_back = false;
        std::thread waiter(wait_to_be_woken);
        ASSERT_TRUE(eventually([] { return unlocking.waits.load(); }));
        for (int turn = 0; turn < 1000; turn++) { // until sleepers are long ago: unlock spares its atomic instruction
            pthread_mutex_lock(&unlocking.mutex); // so it waits by now
            pthread_mutex_unlock(&unlocking.mutex);
        }
        pthread_mutex_lock(&unlocking.mutex);
        asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
        pthread_mutex_unlock(&unlocking.mutex);
        asm volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "memory", "cc");
        bool is_over = unlocking.steps <= unlocking.wakes_after;
        if (is_over)
            old_cond_signal(unlocking.cond.get());
        if (!eventually([] { return unlocking.has_come_back.load(); })) {
            ADD_FAILURE() << "nobody wakes it after instruction " << unlocking.wakes_after;
            std::abort(); // it can't be joined
        }
        waiter.join();
        if (is_over)
            break;
    }
    EXPECT_GT(unlocking.wakes_after, 3);
}

} // namespace
} // namespace holdfast::test
