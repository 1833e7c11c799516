// SPDX-License-Identifier: MIT OR Apache-2.0
// Real-time threads among ordinary ones: they go first, by priority, and do not keep a CPU from a thread that has what
// they wait for. As glibc does it, unless a case is called only_ours. Needs the right to SCHED_FIFO.
//
// Shown able to fail: join() in lock/posix/condition.c that asks for no priority (a signal goes to an ordinary waiter),
// or puts equals in front; hf_poll_pause that pauses only (PollersDoNotKeep... under ttas, ticket and mcs);
// wait_behind_writers for all (a reader stays behind a writer); u-SCL that asks for no priority (the slice).
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

constexpr int ordinary_threads = 40;

int become(int priority) {
    sched_param parameters{.sched_priority = priority};
    return pthread_setschedparam(pthread_self(), priority ? SCHED_FIFO : SCHED_OTHER, &parameters);
}

bool has_the_right() {
    int error = 0;
    in_thread([&] { error = become(1); });
    return error == 0;
}

#define NEEDS_THE_RIGHT                                                                                                \
    if (!has_the_right())                                                                                              \
    GTEST_SKIP() << "no right to be a real-time thread"

struct who {
    int priority = 0;
    char name = ' ';
};

// Threads that come to wait one after another, and note in which order they get what they wait for.
class queue {
public:
    // Returns when the thread sleeps in it. wait() calls its argument when it has what it has waited for, alone.
    template <class Wait>
    void add(who comes, Wait wait) {
        std::atomic<pid_t> begins = 0;
        threads_.add([this, comes, wait, &begins] {
            EXPECT_EQ(become(comes.priority), 0);
            begins = gettid();
            wait([this, comes] { served_.push_back(comes); });
        });
        EXPECT_TRUE(eventually([&] { return begins && is_asleep(begins); }));
    }
    void join() { threads_.join(); }
    // After join().
    void expect_first(const std::vector<who> &first) const {
        ASSERT_GE(served_.size(), first.size());
        for (std::size_t i = 0; i < first.size(); i++)
            EXPECT_EQ(std::pair(served_[i].priority, served_[i].name), std::pair(first[i].priority, first[i].name));
    }

private:
    team threads_;
    std::vector<who> served_; // under what they wait for
};

TEST(realtime, SignalsGoToThemFirst) {
    NEEDS_THE_RIGHT;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    int permits = 0;
    std::atomic<int> had = 0;
    auto wait = [&](auto note) {
        pthread_mutex_lock(&mutex);
        while (permits == 0)
            pthread_cond_wait(&cond, &mutex);
        permits--;
        note();
        had++;
        pthread_mutex_unlock(&mutex);
    };
    queue waiters;
    for (int i = 0; i < ordinary_threads; i++)
        waiters.add({}, wait);
    for (who comes : {who{10}, who{20, 'a'}, who{5}, who{20, 'b'}})
        waiters.add(comes, wait);
    for (int signals = 1; signals <= ordinary_threads + 4; signals++) {
        pthread_mutex_lock(&mutex);
        permits++;
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&mutex);
        ASSERT_TRUE(eventually([&] { return had == signals; }));
    }
    waiters.join();
    waiters.expect_first({{20, 'a'}, {20, 'b'}, {10}, {5}, {0}});
}

TEST(realtime, AMutexGoesToThemFirst) {
    NEEDS_THE_RIGHT;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    auto wait = [&](auto note) {
        pthread_mutex_lock(&mutex);
        note();
        pthread_mutex_unlock(&mutex);
    };
    queue waiters;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < ordinary_threads; i++)
        waiters.add({}, wait);
    for (who comes : {who{10}, who{20, 'a'}, who{5}, who{20, 'b'}})
        waiters.add(comes, wait);
    pthread_mutex_unlock(&mutex);
    waiters.join();
    waiters.expect_first({{20, 'a'}, {20, 'b'}, {10}, {5}, {0}});
}

struct rwlock {
    pthread_rwlock_t lock;
    explicit rwlock(int kind) {
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setkind_np(&attributes, kind);
        pthread_rwlock_init(&lock, &attributes);
    }
    rwlock(const rwlock &) = delete;
    rwlock &operator=(const rwlock &) = delete;
    ~rwlock() { pthread_rwlock_destroy(&lock); }

    auto to_write() {
        return [this](auto note) {
            pthread_rwlock_wrlock(&lock);
            note();
            pthread_rwlock_unlock(&lock);
        };
    }
    auto to_read() {
        return [this](auto note) {
            pthread_rwlock_rdlock(&lock);
            note(); // alone, where writers are before and behind it
            pthread_rwlock_unlock(&lock);
        };
    }
};

TEST(only_ours, AReaderWriterLockGoesToTheirWritersFirst) {
    NEEDS_THE_RIGHT;
    for (int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
        rwlock shared(kind);
        queue waiters;
        pthread_rwlock_wrlock(&shared.lock);
        for (who comes : {who{}, who{}, who{}, who{}, who{10}, who{20, 'a'}, who{20, 'b'}})
            waiters.add(comes, shared.to_write());
        pthread_rwlock_unlock(&shared.lock);
        waiters.join();
        waiters.expect_first({{20, 'a'}, {20, 'b'}, {10}, {0}});
    }
}

TEST(only_ours, AReaderGoesBeforeOrdinaryWritersThatArePreferred) {
    NEEDS_THE_RIGHT;
    rwlock shared(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    queue waiters;
    pthread_rwlock_wrlock(&shared.lock);
    for (int writer = 0; writer < 4; writer++)
        waiters.add({}, shared.to_write());
    waiters.add({10}, shared.to_read());
    waiters.add({20}, shared.to_write());
    pthread_rwlock_unlock(&shared.lock);
    waiters.join();
    waiters.expect_first({{20}, {10}, {0}, {0}, {0}, {0}});
}

// Two threads on one CPU: the lower one has the lock, the higher one comes for it, polls or sleeps, and must let the
// lower one go on. (Not in a child: there locks may be others.)
template <class Lock, class Unlock>
bool lets_a_lower_one_go_on(Lock lock, Unlock unlock) {
    std::atomic<bool> held = false, comes = false;
    std::atomic<int> done = 0;
    cpu_set_t cpus, one;
    sched_getaffinity(0, sizeof(cpus), &cpus);
    CPU_ZERO(&one);
    for (int cpu = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0; cpu--) {
        if (CPU_ISSET(cpu, &cpus))
            CPU_SET(cpu, &one);
    }
    team both;
    both.add([&] {
        sched_setaffinity(0, sizeof(one), &one);
        become(1);
        lock();
        held = true;
        while (!comes)
            sched_yield();
        unlock();
        done++;
    });
    both.add([&] {
        sched_setaffinity(0, sizeof(one), &one);
        become(2);
        while (!held)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        comes = true;
        lock();
        unlock();
        done++;
    });
    bool went_on = eventually([&] { return done == 2; });
    sched_param ordinary{.sched_priority = 0};
    if (!went_on) // gives the CPU back
        pthread_setschedparam(both.handle(1), SCHED_OTHER, &ordinary);
    return went_on;
}

TEST(realtime, PollersDoNotKeepTheCpuFromTheOwner) {
    NEEDS_THE_RIGHT;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    EXPECT_TRUE(lets_a_lower_one_go_on([&] { pthread_mutex_lock(&mutex); }, [&] { pthread_mutex_unlock(&mutex); }));
}

TEST(realtime, WritersDoNotKeepTheCpuFromTheReader) {
    NEEDS_THE_RIGHT;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    std::atomic<int> uses = 0;
    EXPECT_TRUE(
        lets_a_lower_one_go_on([&] { uses++ == 0 ? pthread_rwlock_rdlock(&lock) : pthread_rwlock_wrlock(&lock); },
                               [&] { pthread_rwlock_unlock(&lock); }));
}

// glibc's spinlock does not have this: its spinners take the CPU for ever.
TEST(only_ours, SpinnersDoNotKeepTheCpuFromTheOwner) {
    NEEDS_THE_RIGHT;
    pthread_spinlock_t lock;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    EXPECT_TRUE(lets_a_lower_one_go_on([&] { pthread_spin_lock(&lock); }, [&] { pthread_spin_unlock(&lock); }));
}

// One thread takes a mutex again and again, in slices of 100 ms where the mutex has slices. How often it does so while
// a real-time thread waits for it once: the median of several waits.
TEST(realtime, ASliceIsNotWaitedFor) {
    NEEDS_THE_RIGHT;
    constexpr int waits = 7;
    constexpr long in_a_slice = 20'000; // at least, on the slowest machine
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<long> uses = 0;
    std::atomic<bool> stop = false;
    std::vector<long> meanwhile;
    team threads;
    for (int other = 0; other < 2; other++)
        threads.add([&] {
            while (!stop) {
                pthread_mutex_lock(&mutex);
                uses.store(uses.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                pthread_mutex_unlock(&mutex);
            }
        });
    threads.add([&] {
        EXPECT_EQ(become(10), 0);
        for (int i = 0; i < waits; i++) {
            std::this_thread::sleep_for(std::chrono::milliseconds(150)); // its own slice is over
            long before = uses;
            pthread_mutex_lock(&mutex);
            meanwhile.push_back(uses - before);
            pthread_mutex_unlock(&mutex);
        }
        stop = true;
    });
    threads.join();
    std::sort(meanwhile.begin(), meanwhile.end());
    EXPECT_LT(meanwhile[waits / 2], in_a_slice);
}

} // namespace
} // namespace holdfast::test
