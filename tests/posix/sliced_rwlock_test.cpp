// SPDX-License-Identifier: MIT OR Apache-2.0
// What a program may do with a reader-writer lock whose readers have to wait for writers that wait, as under RW-SCL, in
// which this runs (tests/posix/CMakeLists.txt): readers wait for each other, and for other threads. Those cases run on
// glibc, too; the others can't, since its writers starve.
//
// Shown able to fail: hf_sliced_try_read and hf_sliced_read that do not ask what the thread reads (ReadsAgain); a drain
// that is never given up (WaitsForAnother: both are stuck); no fork handler (AForkedChild: stuck).
#include <gtest/gtest.h>
#include <latch>
#include <pthread.h>

#include "deadline.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

constexpr int rounds = 10;

class read_lock {
public:
    explicit read_lock(pthread_rwlock_t &lock) : lock_(lock) { EXPECT_EQ(pthread_rwlock_rdlock(&lock_), 0); }
    read_lock(const read_lock &) = delete;
    read_lock &operator=(const read_lock &) = delete;
    ~read_lock() { EXPECT_EQ(pthread_rwlock_unlock(&lock_), 0); }

private:
    pthread_rwlock_t &lock_;
};

void write(pthread_rwlock_t &lock) {
    EXPECT_EQ(pthread_rwlock_wrlock(&lock), 0);
    EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
}

// As long as a writer waits for readers, one that comes is told so. False on glibc, whose readers go first.
bool readers_are_kept_out(pthread_rwlock_t &lock) {
    bool out = false;
    in_thread([&] {
        for (int i = 0; i < 1000 && !out; i++) {
            out = pthread_rwlock_tryrdlock(&lock) == EBUSY;
            if (!out) {
                EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
                usleep(100);
            }
        }
    });
    return out;
}

TEST(sliced_rwlock, ReadsAgainWhileAWriterWaitsForIt) {
    for (int round = 0; round < rounds; round++) {
        pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
        team writer;
        {
            read_lock outer(lock);
            writer.add([&] { write(lock); });
            readers_are_kept_out(lock);
            for (int level = 0; level < 20; level++)
                EXPECT_EQ(pthread_rwlock_tryrdlock(&lock), 0);
            for (int level = 0; level < 20; level++)
                EXPECT_EQ(pthread_rwlock_rdlock(&lock), 0);
            for (int level = 0; level < 40; level++)
                EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
        }
        writer.join();
        write(lock);
        EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
    }
}

// More than a thread has room to note.
TEST(sliced_rwlock, OfManyReadsAgain) {
    constexpr int many = 20;
    pthread_rwlock_t locks[many];
    for (pthread_rwlock_t &lock : locks) {
        lock = PTHREAD_RWLOCK_INITIALIZER;
        EXPECT_EQ(pthread_rwlock_rdlock(&lock), 0);
    }
    team writers(many, [&](int member) { write(locks[member]); });
    for (pthread_rwlock_t &lock : locks)
        readers_are_kept_out(lock);
    for (pthread_rwlock_t &lock : locks)
        EXPECT_EQ(pthread_rwlock_tryrdlock(&lock), 0);
    for (int level = 0; level < 2; level++)
        for (pthread_rwlock_t &lock : locks)
            EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
    writers.join();
    for (pthread_rwlock_t &lock : locks)
        EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

// A reader goes on only when another thread has read, which came when a writer was already waiting.
TEST(sliced_rwlock, WaitsForAnotherReader) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    std::atomic<bool> has_read = false;
    team others;
    {
        read_lock first(lock);
        others.add([&] { write(lock); });
        readers_are_kept_out(lock);
        others.add([&] {
            read_lock second(lock);
            has_read = true;
        });
        EXPECT_TRUE(eventually([&] { return has_read.load(); }));
    }
    others.join();
    write(lock);
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

// Each of two threads reads one lock and wants to read the other's, at which writers wait.
TEST(sliced_rwlock, WaitsForAnotherReaderCrosswise) {
    pthread_rwlock_t locks[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
    std::latch read(2), waited_for(1);
    team readers(2, [&](int member) {
        read_lock own(locks[member]);
        read.count_down();
        waited_for.wait();
        read_lock others(locks[1 - member]);
    });
    read.wait();
    team writers(2, [&](int member) { write(locks[member]); });
    readers_are_kept_out(locks[0]);
    readers_are_kept_out(locks[1]);
    waited_for.count_down();
    readers.join();
    writers.join();
    for (pthread_rwlock_t &lock : locks)
        EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

// An RW-SCL lock is told by what glibc's functions would not do: these cases are for RW-SCL alone.
TEST(only_sliced_rwlock, KeepsReadersOutWhileAWriterWaits) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    team writer;
    {
        read_lock first(lock);
        writer.add([&] { write(lock); });
        EXPECT_TRUE(eventually([&] { return readers_are_kept_out(lock); }));
    }
    writer.join();
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

TEST(only_sliced_rwlock, LetsAWriterInThoughReadersOverlap) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    std::atomic<bool> over = false;
    team readers(4, [&](int) {
        while (!over) {
            read_lock one(lock);
            usleep(1000);
        }
    });
    for (int turn = 0; turn < 20; turn++)
        write(lock);
    over = true;
    readers.join();
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

bool works(pthread_rwlock_t &lock) {
    for (int round = 0; round < 3; round++) {
        if (pthread_rwlock_wrlock(&lock) || pthread_rwlock_unlock(&lock) || pthread_rwlock_rdlock(&lock) ||
            pthread_rwlock_unlock(&lock))
            return false;
    }
    return true;
}

// Others wait for what the thread holds that forks. In the child they are not there.
TEST(only_sliced_rwlock, InAForkedChildForgetsItsWaiters) {
    for (bool writes : {false, true}) {
        pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
        ASSERT_EQ(writes ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock), 0);
        team others(4, [&](int member) {
            if (member == 0 || member == 1)
                write(lock);
            else
                read_lock reads(lock);
        });
        if (!writes)
            readers_are_kept_out(lock);
        a_short_while();
        child_process child([&] {
            // Nested in the child as in the parent.
            if (!writes && (pthread_rwlock_tryrdlock(&lock) || pthread_rwlock_unlock(&lock)))
                return false;
            return pthread_rwlock_unlock(&lock) == 0 && works(lock);
        });
        EXPECT_TRUE(child.succeeds());
        ASSERT_EQ(pthread_rwlock_unlock(&lock), 0);
        others.join();
        EXPECT_TRUE(works(lock));
        EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
    }
}

// A lock that was copied while nobody had it is one of its own: so glibc's is, though POSIX does not say so.
TEST(sliced_rwlock, OfACopyIsAnother) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    write(lock);
    pthread_rwlock_t copy = lock;
    ASSERT_EQ(pthread_rwlock_wrlock(&lock), 0);
    EXPECT_EQ(pthread_rwlock_trywrlock(&copy), 0);
    EXPECT_EQ(pthread_rwlock_unlock(&copy), 0);
    EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
    EXPECT_EQ(pthread_rwlock_destroy(&copy), 0);
    write(lock);
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

} // namespace
} // namespace holdfast::test
