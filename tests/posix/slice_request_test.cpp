// SPDX-License-Identifier: MIT OR Apache-2.0
// Requests for a longer time slice, as a kernel finds them in a thread's rseq area, under
// mutex:flexguard(slice-extension=yes). Run by made_up_slices, on a kernel that says it hears them; the cases
// `unheard` without.
//
// Shown able to fail: a request that is not taken back where a timed wait ends, by glibc's condition variable, or by
// an inner mutex; that is taken back by an inner one; no request by a thread that wakes from a condition variable,
// or that has waited for the mutex; one that stands while a thread waits; that an inner mutex does not make anew; no
// look whether it was granted; a sandbox that does not forgo; a request that a handler's section takes back, or in an
// area that the kernel does not read.
#include <atomic>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "deadline.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

// In struct rseq, at this place since Linux 7.0.
struct slice_control {
    std::uint8_t request;
    std::uint8_t granted;
};
constexpr std::ptrdiff_t slice_control_at = 28;

volatile slice_control *own_control() {
    return reinterpret_cast<volatile slice_control *>(static_cast<char *>(__builtin_thread_pointer()) + __rseq_offset +
                                                      slice_control_at);
}

int requests() {
    return own_control()->request;
}

// As the kernel does it.
void switch_out() {
    own_control()->request = 0;
    own_control()->granted = 0;
}

void grant() {
    own_control()->request = 0;
    own_control()->granted = 1;
}

volatile sig_atomic_t given_back;

void note_given_back(int) {
    given_back = given_back + 1;
    own_control()->granted = 0;
}

class slice_request : public testing::Test {
protected:
    slice_request() {
        given_back = 0;
        signal(SIGSYS, note_given_back);
    }
    ~slice_request() override { EXPECT_EQ(requests(), 0); }

    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
};

TEST_F(slice_request, StandsWhileTheMutexIsHeld) {
    EXPECT_EQ(requests(), 0);
    pthread_mutex_lock(&mutex);
    EXPECT_EQ(requests(), 1);
    pthread_mutex_unlock(&mutex);
    EXPECT_EQ(requests(), 0);
    EXPECT_EQ(given_back, 0);
}

TEST_F(slice_request, StandsUntilTheOutermostMutexIsFree) {
    pthread_mutex_lock(&mutex);
    ASSERT_EQ(pthread_mutex_trylock(&other), 0);
    pthread_mutex_unlock(&other);
    EXPECT_EQ(requests(), 1);
    pthread_mutex_unlock(&mutex);
}

TEST_F(slice_request, IsTakenBackWhereTheMutexIsNotHad) {
    pthread_mutex_lock(&mutex);
    std::thread([&] {
        EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
        EXPECT_EQ(requests(), 0);
        timespec past = {};
        EXPECT_EQ(pthread_mutex_timedlock(&mutex, &past), ETIMEDOUT);
        EXPECT_EQ(requests(), 0);
        pthread_mutex_lock(&other);
        EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
        EXPECT_EQ(requests(), 1);
        pthread_mutex_unlock(&other);
        EXPECT_EQ(requests(), 0);
    }).join();
    pthread_mutex_unlock(&mutex);
}

TEST_F(slice_request, DoesNotStandWhileItsThreadWaitsForTheMutex) {
    std::atomic<volatile slice_control *> waiters = nullptr;
    pthread_mutex_lock(&mutex);
    std::thread waiter([&] {
        pthread_mutex_lock(&other);
        EXPECT_EQ(requests(), 1);
        pthread_mutex_unlock(&other);
        own_control()->request = 1; // so that the other thread sees it taken back
        waiters = own_control();
        pthread_mutex_lock(&mutex);
        EXPECT_EQ(requests(), 1);
        pthread_mutex_unlock(&mutex);
        EXPECT_EQ(requests(), 0);
    });
    EXPECT_TRUE(eventually([&] { return waiters && !waiters.load()->request; }));
    pthread_mutex_unlock(&mutex);
    waiter.join();
}

TEST_F(slice_request, IsMadeAnewInASectionWhoseThreadWasSwitchedOut) {
    pthread_mutex_lock(&mutex);
    switch_out();
    pthread_mutex_lock(&other);
    EXPECT_EQ(requests(), 1);
    pthread_mutex_unlock(&other);
    EXPECT_EQ(requests(), 1);
    pthread_mutex_unlock(&mutex);
}

TEST_F(slice_request, OfARecursiveMutexStandsUntilItIsFree) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_t recursive;
    pthread_mutex_init(&recursive, &attributes);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
    EXPECT_EQ(requests(), 1);
    pthread_mutex_unlock(&recursive);
    EXPECT_EQ(requests(), 0);
}

TEST_F(slice_request, DoesNotStandWhileItsThreadWaitsForACondition) {
    volatile slice_control *waiters = nullptr;
    bool awake = false;
    pthread_mutex_lock(&other); // the waiter's outer one
    pthread_mutex_unlock(&other);
    std::thread waiter([&] {
        pthread_mutex_lock(&mutex);
        waiters = own_control();
        while (!awake)
            pthread_cond_wait(&condition, &mutex);
        EXPECT_EQ(requests(), 1);
        pthread_mutex_lock(&other);
        pthread_mutex_unlock(&other);
        EXPECT_EQ(requests(), 1);
        pthread_mutex_unlock(&mutex);
        EXPECT_EQ(requests(), 0);
    });
    for (bool waits = false; !waits;) {
        pthread_mutex_lock(&mutex);
        waits = waiters != nullptr;
        pthread_mutex_unlock(&mutex);
    }
    EXPECT_TRUE(eventually([&] { return !waiters->request; })); // some instructions more
    pthread_mutex_lock(&mutex);
    awake = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    waiter.join();
}

// A crowd that is woken for what one of it finds: before long the others are moved onto the mutex, and wake by that.
TEST_F(slice_request, StandsForEachOfACrowdThatWakes) {
    constexpr int crowd = 16, rounds = 200;
    int come = 0, items = 0;
    bool over = false;
    std::atomic<int> wakes = 0, requesting = 0;
    std::vector<std::thread> waiters;
    for (int i = 0; i < crowd; i++) {
        waiters.emplace_back([&] {
            pthread_mutex_lock(&mutex);
            come++;
            while (!over) {
                pthread_cond_wait(&condition, &mutex);
                wakes++;
                requesting += requests();
                items = 0;
            }
            pthread_mutex_unlock(&mutex);
            EXPECT_EQ(requests(), 0);
        });
    }
    EXPECT_TRUE(eventually([&] {
        pthread_mutex_lock(&mutex);
        bool all_wait = come == crowd;
        pthread_mutex_unlock(&mutex);
        return all_wait;
    }));
    for (int round = 0; round < rounds; round++) {
        pthread_mutex_lock(&mutex);
        items = 1;
        over = round + 1 == rounds;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
        EXPECT_TRUE(eventually([&] {
            pthread_mutex_lock(&mutex);
            bool found = items == 0;
            pthread_mutex_unlock(&mutex);
            return found;
        }));
    }
    for (std::thread &each : waiters)
        each.join();
    EXPECT_EQ(requesting, wakes);
}

TEST_F(slice_request, ThatWasGrantedIsGivenBackOnce) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&other);
    grant();
    pthread_mutex_unlock(&other);
    EXPECT_EQ(given_back, 0);
    pthread_mutex_unlock(&mutex);
    EXPECT_EQ(given_back, 1);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    EXPECT_EQ(given_back, 1);
}

// A handler that has a section of its own, in one of its thread's and between them.
pthread_mutex_t handlers_mutex = PTHREAD_MUTEX_INITIALIZER;
volatile sig_atomic_t requests_in_handler;

void have_a_section(int) {
    pthread_mutex_lock(&handlers_mutex);
    requests_in_handler = requests();
    pthread_mutex_unlock(&handlers_mutex);
}

TEST_F(slice_request, IsNotTakenBackByASignalHandler) {
    signal(SIGUSR1, have_a_section);
    pthread_mutex_lock(&mutex);
    raise(SIGUSR1);
    EXPECT_EQ(requests(), 1);
    grant();
    raise(SIGUSR1);
    EXPECT_EQ(given_back, 0);
    pthread_mutex_unlock(&mutex);
    EXPECT_EQ(given_back, 1);
    requests_in_handler = 0;
    raise(SIGUSR1);
    EXPECT_EQ(requests_in_handler, 1);
    EXPECT_EQ(requests(), 0);
}

TEST_F(slice_request, IsEachThreadsOwn) {
    pthread_mutex_lock(&mutex);
    std::thread([&] {
        EXPECT_EQ(requests(), 0);
        pthread_mutex_lock(&other);
        EXPECT_EQ(requests(), 1);
        pthread_mutex_unlock(&other);
        EXPECT_EQ(requests(), 0);
    }).join();
    EXPECT_EQ(requests(), 1);
    pthread_mutex_unlock(&mutex);
}

// It has registered one of its own in place of glibc's.
TEST_F(slice_request, IsNotMadeInAnAreaThatTheKernelDoesNotRead) {
    std::thread([&] {
        constexpr unsigned bytes = 32, unregister = 1;
        void *area = static_cast<char *>(__builtin_thread_pointer()) + __rseq_offset;
        if (syscall(SYS_rseq, area, bytes, unregister, RSEQ_SIG) != 0)
            return; // it is larger, or there is none
        pthread_mutex_lock(&mutex);
        EXPECT_EQ(requests(), 0);
        pthread_mutex_unlock(&mutex);
    }).join();
}

TEST_F(slice_request, IsAForkedChildsToo) {
    pthread_mutex_lock(&mutex);
    child_process child([&] {
        int inside = requests();
        pthread_mutex_unlock(&mutex);
        return inside == 1 && requests() == 0;
    });
    pthread_mutex_unlock(&mutex);
    EXPECT_TRUE(child.succeeds());
}

// Its filter may kill for a call that nobody has thought of.
TEST_F(slice_request, IsNotGivenBackInASandboxOfTheProgramsOwn) {
    child_process child([&] {
        sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        sock_fprog program = {.len = 1, .filter = &allow};
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
            return false;
        pthread_mutex_lock(&mutex);
        grant();
        pthread_mutex_unlock(&mutex);
        return given_back == 0;
    });
    EXPECT_TRUE(child.succeeds());
}

// Where the running kernel extends time slices there is nothing to see.
TEST(unheard, IsNotRequested) {
    constexpr int extension = 79, get = 1;
    if (prctl(extension, get, 0, 0, 0) >= 0)
        return;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    EXPECT_EQ(requests(), 0);
    pthread_mutex_unlock(&mutex);
}

} // namespace
} // namespace holdfast::test
