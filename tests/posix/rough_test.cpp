// SPDX-License-Identifier: MIT OR Apache-2.0
// Programs that treat their locks and their process roughly, and get away with it under glibc: handlers that lock while
// the thread waits, cancellation again and again, objects that are gone as soon as nobody needs them or that nobody
// destroys, closed descriptors, other users, daemons, children without a memory of their own.
//
// Shown able to fail: an unlock that stores to the mutex some time after it has given the word back, a
// pthread_barrier_destroy that does not wait (gone_at_once: SIGSEGV). The others never failed.
#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadline.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

// Threads that use all that a program has, until it is destroyed.
class busy_locks {
public:
    explicit busy_locks(int size) : team_(size, [this](int) { use(); }) {
        EXPECT_TRUE(eventually([&] { return uses_ > 100; }));
    }
    busy_locks(const busy_locks &) = delete;
    busy_locks &operator=(const busy_locks &) = delete;
    ~busy_locks() {
        long before = uses_;
        EXPECT_TRUE(eventually([&] { return uses_ > before + 100; })) << "they go on";
        stop_ = true;
    }

private:
    void use() {
        while (!stop_) {
            pthread_mutex_lock(&mutex_);
            long before = inside_;
            inside_ = before + 1;
            EXPECT_EQ(inside_, before + 1);
            pthread_mutex_unlock(&mutex_);
            uses_ % 3 ? pthread_rwlock_rdlock(&rwlock_) : pthread_rwlock_wrlock(&rwlock_);
            pthread_rwlock_unlock(&rwlock_);
            uses_++;
        }
    }

    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t rwlock_ = PTHREAD_RWLOCK_INITIALIZER;
    volatile long inside_ = 0;
    std::atomic<long> uses_ = 0;
    std::atomic<bool> stop_ = false;
    team team_;
};

TEST(handlers, LockWaitAndSignalWhileTheirThreadWaits) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, handlers_mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER, handlers_cond = PTHREAD_COND_INITIALIZER;
    static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER, handlers_rwlock = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_barrier_t barrier;
    static std::atomic<int> ended = 0, handled = 0;
    static int turn = 0;
    constexpr int threads = 4, rounds = 10;
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) {
        int error = errno;
        timespec now = from_now(CLOCK_REALTIME, 0);
        pthread_mutex_lock(&handlers_mutex);
        pthread_cond_timedwait(&handlers_cond, &handlers_mutex, &now);
        pthread_cond_broadcast(&handlers_cond);
        pthread_mutex_unlock(&handlers_mutex);
        pthread_rwlock_wrlock(&handlers_rwlock);
        pthread_rwlock_unlock(&handlers_rwlock);
        handled++;
        errno = error;
    };
    sigaction(SIGUSR1, &action, &before);
    ASSERT_EQ(pthread_barrier_init(&barrier, nullptr, threads), 0);
    team all(threads, [](int number) {
        for (int round = 0; round < rounds; round++) {
            pthread_mutex_lock(&mutex);
            while (turn % threads != number)
                pthread_cond_wait(&turn_changed, &mutex);
            turn++;
            pthread_cond_broadcast(&turn_changed);
            pthread_mutex_unlock(&mutex);
            pthread_barrier_wait(&barrier);
            number == 0 ? pthread_rwlock_wrlock(&rwlock) : pthread_rwlock_rdlock(&rwlock);
            sched_yield();
            pthread_rwlock_unlock(&rwlock);
        }
        ended++;
    });
    for (unsigned i = 0; ended < threads; i++) {
        int so_far = handled;
        pthread_kill(all.handle(i % threads), SIGUSR1);
        while (handled == so_far && ended < threads) // no faster than they are
            usleep(200);
    }
    all.join();
    EXPECT_EQ(turn, threads * rounds);
    sigaction(SIGUSR1, &before, nullptr);
}

TEST(cancellation, AgainAndAgainOfWaitersWhoseCleanUpsWait) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
    static long cleaned = 0;
    constexpr int rounds = 20, waiters = 6;
    struct clean_up {
        ~clean_up() {
            pthread_mutex_unlock(&mutex);
            timespec soon = from_now(CLOCK_REALTIME, 1);
            pthread_mutex_lock(&other);
            cleaned++;
            pthread_cond_timedwait(&never, &other, &soon);
            pthread_mutex_unlock(&other);
        }
    };
    busy_locks busy(1);
    for (int round = 0; round < rounds; round++) {
        team all(waiters, [](int number) {
            pthread_mutex_lock(&mutex);
            clean_up at_the_end;
            for (;;) {
                timespec soon = from_now(CLOCK_REALTIME, 2);
                number % 2 ? pthread_cond_wait(&cond, &mutex) : pthread_cond_timedwait(&cond, &mutex, &soon);
            }
        });
        usleep(static_cast<useconds_t>(round % 3 * 500));
        for (std::size_t i = 0; i < waiters; i++) {
            EXPECT_EQ(pthread_cancel(all.handle(i)), 0);
            if (i == 2)
                pthread_cond_broadcast(&cond);
        }
    }
    EXPECT_EQ(cleaned, rounds * waiters);
    EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
}

// In a page of its own, which the last one unmaps: whoever touches it later dies.
struct short_lived {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_barrier_t barrier;
    int left = 4;
    std::atomic<int> have_come = 0;

    // All four at once.
    void meet() {
        for (have_come++; have_come < 4;)
            sched_yield();
    }

    static short_lived *make() {
        void *page = mmap(nullptr, sizeof(short_lived), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return page == MAP_FAILED ? throw std::bad_alloc() : new (page) short_lived;
    }
    void unmap() { munmap(this, sizeof(*this)); }
};

TEST(gone_at_once, WhatTheLastUserGivesBack) {
    for (int round = 0; round < 50; round++) {
        short_lived *it = short_lived::make();
        team mutexes(4, [it](int) {
            it->meet();
            pthread_mutex_lock(&it->mutex);
            bool last = --it->left == 0;
            pthread_mutex_unlock(&it->mutex);
            if (last)
                it->unmap();
        });
        mutexes.join();
        it = short_lived::make();
        team rwlocks(4, [it](int) {
            it->meet();
            pthread_rwlock_rdlock(&it->rwlock);
            pthread_rwlock_unlock(&it->rwlock);
            pthread_rwlock_wrlock(&it->rwlock);
            bool last = --it->left == 0;
            pthread_rwlock_unlock(&it->rwlock);
            if (last)
                it->unmap();
        });
        rwlocks.join();
        it = short_lived::make();
        ASSERT_EQ(pthread_barrier_init(&it->barrier, nullptr, 4), 0);
        team barriers(4, [it](int) {
            if (pthread_barrier_wait(&it->barrier) != PTHREAD_BARRIER_SERIAL_THREAD)
                return;
            EXPECT_EQ(pthread_barrier_destroy(&it->barrier), 0); // waits until all have left
            it->unmap();
        });
    }
}

// POSIX: it may be destroyed as soon as all its waiters are woken, before they have the mutex again.
TEST(gone_at_once, AConditionVariableWhoseWaitersAreWoken) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t all_wait = PTHREAD_COND_INITIALIZER;
    for (int round = 0; round < 100; round++) {
        short_lived *it = short_lived::make();
        bool go = false; // guarded by the mutex, as is what is left
        team all(4, [&](int) {
            pthread_mutex_lock(&mutex);
            it->left--;
            pthread_cond_signal(&all_wait);
            do
                pthread_cond_wait(&it->cond, &mutex);
            while (!go); // not woken otherwise: the condition variable is gone then
            pthread_mutex_unlock(&mutex);
        });
        pthread_mutex_lock(&mutex);
        while (it->left > 0)
            pthread_cond_wait(&all_wait, &mutex);
        go = true;
        pthread_cond_broadcast(&it->cond);
        if (round % 2)
            pthread_mutex_unlock(&mutex);
        EXPECT_EQ(pthread_cond_destroy(&it->cond), 0);
        it->unmap();
        if (round % 2 == 0)
            pthread_mutex_unlock(&mutex);
    }
}

// Zeroed memory is a free lock again, and what a lock has had besides is not kept for ever.
TEST(never_destroyed, MemoryIsZeroedAndUsedAgain) {
    constexpr std::size_t bytes = 1 << 16;
    void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    struct pair {
        pthread_mutex_t mutex;
        pthread_rwlock_t rwlock;
    };
    auto *pairs = static_cast<pair *>(pages);
    for (int round = 0; round < 5; round++) {
        for (std::size_t i = 0; i < bytes / sizeof(pair); i += 32) {
            long inside = 0;
            team two(2, [&](int) {
                for (int turn = 0; turn < 3; turn++) {
                    pthread_mutex_lock(&pairs[i].mutex);
                    sched_yield();
                    inside++;
                    pthread_mutex_unlock(&pairs[i].mutex);
                    pthread_rwlock_wrlock(&pairs[i].rwlock);
                    pthread_rwlock_unlock(&pairs[i].rwlock);
                }
            });
            two.join();
            EXPECT_EQ(inside, 6);
        }
        ASSERT_EQ(madvise(pages, bytes, MADV_DONTNEED), 0);
    }
    munmap(pages, bytes);
}

TEST(descriptors, MayAllBeClosed) {
    child_process child([] {
        busy_locks busy(3);
        if (syscall(SYS_close_range, 3, ~0U, 0) != 0)
            return false;
        child_process grandchild([] {
            busy_locks own(3);
            return true;
        });
        return grandchild.succeeds();
    });
    EXPECT_TRUE(child.succeeds());
}

TEST(daemon, TwiceWithLocksInBetween) {
    shared_with_children<std::atomic<int>> reached;
    child_process child([&] {
        for (int times = 0; times < 2; times++) {
            if (daemon(1, 1) != 0) // its parent ends here
                return false;
            busy_locks busy(3);
            reached->fetch_add(1);
        }
        return true;
    });
    EXPECT_TRUE(child.succeeds());
    EXPECT_TRUE(eventually([&] { return *reached == 2; }));
}

// glibc interrupts every thread for it.
TEST(users, MayChangeWhileThreadsLock) {
    if (getuid() != 0)
        GTEST_SKIP() << "only root becomes others";
    child_process child([] {
        constexpr uid_t nobody = 65534;
        busy_locks busy(3);
        for (int i = 0; i < 50; i++)
            if (setresuid(static_cast<uid_t>(-1), i % 2 ? 0 : nobody, static_cast<uid_t>(-1)) != 0)
                return false;
        return setgroups(0, nullptr) == 0 && setresgid(nobody, nobody, nobody) == 0 &&
               setresuid(nobody, nobody, nobody) == 0;
    });
    EXPECT_TRUE(child.succeeds());
}

TEST(children, ManyOfABusyParent) {
    busy_locks busy(2);
    for (int round = 0; round < 10; round++) {
        std::list<child_process> children;
        for (int i = 0; i < 20; i++)
            children.emplace_back([&] {
                if (i % 10 == 0)
                    busy_locks own(2);
                pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
                pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
                timespec soon = from_now(CLOCK_REALTIME, i % 3);
                return pthread_mutex_lock(&mutex) == 0 && pthread_cond_timedwait(&cond, &mutex, &soon) == ETIMEDOUT &&
                       pthread_mutex_unlock(&mutex) == 0;
            });
        for (child_process &child : children)
            EXPECT_TRUE(child.succeeds());
    }
}

// Until it has ended the thread that made it stands still, and the others go on.
TEST(children, WithoutAMemoryOfTheirOwnLockWhatIsFree) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static int locked = 0;
    alignas(16) static char stack[1 << 16];
    busy_locks busy(3);
    for (int i = 0; i < 50; i++) {
        pid_t child = clone(
            [](void *) -> int {
                pthread_mutex_lock(&mutex);
                locked++;
                pthread_mutex_unlock(&mutex);
                _exit(0);
            },
            stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
        EXPECT_EQ(status_of(child), 0);
        EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
        EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    }
    EXPECT_EQ(locked, 50);
}

} // namespace
} // namespace holdfast::test
