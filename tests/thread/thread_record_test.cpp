// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Shown able to fail, of left_behind_records: a pool that never sweeps (AreHandedOutAgain); each condition left out of
// is_left_behind; slabs not forgotten in a child; strangers not noted.
#include <algorithm>
#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <set>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "effort.hpp"
#include "thread/thread_record.h"

namespace {

// Runs in a forked child and says whether all its checks held: for what can't be undone in this process.
bool in_child(const std::function<bool()> &body) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(body() ? 0 : 1);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(thread_record, IsOneCacheLine) {
    EXPECT_EQ(sizeof(hf_thread_record), static_cast<size_t>(HF_CACHE_LINE_BYTES));
    EXPECT_EQ(offsetof(hf_thread_record, critical), 0u);
}

TEST(thread_record, StaysTheSameForAThread) {
    hf_thread_record *self = hf_self();
    EXPECT_EQ(hf_self(), self);
    EXPECT_EQ(self->tid, static_cast<uint32_t>(syscall(SYS_gettid)));
}

TEST(thread_record, IsFoundAtTheRegisteredOffset) {
    hf_thread_record *self = hf_self();
    EXPECT_EQ(*reinterpret_cast<hf_thread_record **>(hf_thread_pointer() + hf_thread_record_tls_offset()), self);
    std::thread([] {
        hf_thread_record *own = hf_self();
        EXPECT_EQ(*reinterpret_cast<hf_thread_record **>(hf_thread_pointer() + hf_thread_record_tls_offset()), own);
    }).join();
}

TEST(thread_record, DiffersBetweenThreadsAliveAtOnce) {
    constexpr int many = 3000; // more than a slab
    pthread_barrier_t all_arrived;
    pthread_barrier_init(&all_arrived, nullptr, many);
    std::vector<hf_thread_record *> records(many);
    std::vector<std::thread> threads;
    for (int i = 0; i < many; i++)
        threads.emplace_back([&, i] {
            records[static_cast<size_t>(i)] = hf_self();
            pthread_barrier_wait(&all_arrived);
        });
    for (auto &thread : threads)
        thread.join();
    pthread_barrier_destroy(&all_arrived);
    EXPECT_EQ(std::set<hf_thread_record *>(records.begin(), records.end()).size(), static_cast<size_t>(many));
}

TEST(thread_record, IsReusedCleanAfterItsThreadHasExited) {
    const int many = holdfast::test::effort(20000, 1000);
    std::set<hf_thread_record *> records;
    for (int i = 0; i < many; i++) {
        std::thread([&] {
            hf_thread_record *self = hf_self();
            EXPECT_EQ(self->critical.critical_depth, 0u);
            EXPECT_EQ(self->critical.queue_state, static_cast<uint32_t>(HF_QUEUE_IDLE));
            EXPECT_EQ(self->tid, static_cast<uint32_t>(syscall(SYS_gettid)));
            hf_critical_enter(self); // and never leaves
            self->critical.queue_state = HF_QUEUE_HEAD;
            records.insert(self);
        }).join();
    }
    EXPECT_LT(records.size(), static_cast<std::size_t>(many / 4)) << "records of exited threads are handed out again";
}

pthread_key_t late_key;

struct late_lock {
    int rounds = 0;
    hf_thread_record *record = nullptr;
};

void lock_in_the_last_round(void *pointer) {
    auto *late = static_cast<late_lock *>(pointer);
    if (++late->rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(late_key, late);
    else
        late->record = hf_self();
}

// The record of a thread that has locked after it had given its record back, and is gone.
hf_thread_record *left_behind() {
    late_lock late;
    std::thread([&late] {
#ifdef __SANITIZE_THREAD__ // it does not want to hear of a thread that late
        late.record = hf_self();
        hf_self_record = nullptr;
#else
        pthread_setspecific(late_key, &late);
#endif
    }).join();
    return late.record;
}

class left_behind_records : public testing::Test {
protected:
    static constexpr int many = 10 * HF_SLAB_RECORDS;

    static void SetUpTestSuite() {
        hf_self();
        // Behind the key by which records are given back, which is one of the first 32.
        std::vector<pthread_key_t> before;
        do {
            before.push_back(0);
            ASSERT_EQ(pthread_key_create(&before.back(), lock_in_the_last_round), 0);
        } while (before.back() < 32);
        late_key = before.back();
        before.pop_back();
        for (pthread_key_t key : before)
            pthread_key_delete(key);
    }
    static void TearDownTestSuite() { pthread_key_delete(late_key); }

    static std::set<hf_thread_record *> of_many() {
        std::set<hf_thread_record *> records;
        for (int i = 0; i < many; i++)
            records.insert(left_behind());
        return records;
    }
};

TEST_F(left_behind_records, AreHandedOutAgain) {
    std::set<hf_thread_record *> records = of_many();
    EXPECT_LT(records.size(), 8u * HF_SLAB_RECORDS);
    for (hf_thread_record *each : records)
        EXPECT_NE(each->tid, 0u);
}

TEST_F(left_behind_records, AreNoLivingThreads) {
    constexpr std::size_t living = 100;
    std::set<hf_thread_record *> kept{hf_self()};
    pthread_barrier_t begun, over;
    pthread_barrier_init(&begun, nullptr, living + 1);
    pthread_barrier_init(&over, nullptr, living + 1);
    std::vector<hf_thread_record *> records(living);
    std::vector<std::thread> threads;
    for (hf_thread_record *&record : records)
        threads.emplace_back([&] {
            record = hf_self();
            hf_critical_enter(record);
            pthread_barrier_wait(&begun);
            pthread_barrier_wait(&over);
            EXPECT_EQ(record->critical.critical_depth, 1u);
            hf_critical_leave(record);
        });
    pthread_barrier_wait(&begun);
    kept.insert(records.begin(), records.end());
    for (hf_thread_record *each : of_many())
        EXPECT_FALSE(kept.contains(each));
    pthread_barrier_wait(&over);
    for (std::thread &each : threads)
        each.join();
}

TEST_F(left_behind_records, AreTheirsIfTheyHaveBegunASlice) {
    hf_thread_record *slicer = left_behind();
    int slices;
    hf_private(slicer)->slice_begun = reinterpret_cast<hf_slices *>(&slices);
    EXPECT_FALSE(of_many().contains(slicer));
    hf_private(slicer)->slice_begun = nullptr;
    EXPECT_TRUE(of_many().contains(slicer));
}

// The records that it has from its parent are of threads that it does not have.
TEST_F(left_behind_records, OfAParentAreNotTheChilds) {
    std::set<hf_thread_record *> parents;
    for (int i = 0; i < 100; i++)
        parents.insert(left_behind());
    EXPECT_TRUE(in_child([&] {
        return std::ranges::none_of(of_many(), [&](hf_thread_record *each) { return parents.contains(each); });
    }));
}

// vfork's child has the memory and another number.
TEST_F(left_behind_records, AreLeftAloneOnceAnotherProcessHasTakenOne) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "vfork is fork under ThreadSanitizer";
#endif
    EXPECT_TRUE(in_child([] {
        hf_thread_record *living = nullptr;
        std::thread([&living] {
            pid_t child = vfork();
            if (child == 0) {
                living = hf_self(); // this thread's from now on, with the number of one that is gone
                _exit(0);
            }
            waitpid(child, nullptr, 0);
            EXPECT_EQ(hf_self(), living);
            EXPECT_FALSE(of_many().contains(living));
        }).join();
        return !testing::Test::HasFailure();
    }));
}

// The record of a thread that is gone is another's, without a key too, once there are many.
TEST(thread_record, AreFoundWithoutAKey) {
    EXPECT_TRUE(in_child([] {
        hf_self();
        if (!hf_thread_give_up_exit_key() || hf_thread_give_up_exit_key())
            return false;
        std::set<hf_thread_record *> records;
        for (int i = 0; i < 10 * HF_SLAB_RECORDS; i++)
            std::thread([&records] { records.insert(hf_self()); }).join();
        return records.size() < 8u * HF_SLAB_RECORDS;
    }));
}

TEST(thread_record, DepthSaturatesAtZero) {
    hf_thread_record *self = hf_self();
    hf_critical_enter(self);
    hf_critical_enter(self);
    EXPECT_EQ(self->critical.critical_depth, 2u);
    hf_critical_leave(self);
    hf_critical_leave(self);
    hf_critical_leave(self);
    EXPECT_EQ(self->critical.critical_depth, 0u);
}

TEST(thread_record, AForkedChildHasANewOneOfTheSameDepth) {
    hf_thread_record *before = hf_self();
    hf_critical_enter(before);
    EXPECT_TRUE(in_child([before] {
        return hf_self() != before && hf_self()->critical.critical_depth == 1 &&
               hf_self()->tid == static_cast<uint32_t>(getpid());
    }));
    hf_critical_leave(before);
}

TEST(thread_record, SharedCountersAreSeenThroughTheDescriptor) {
    EXPECT_TRUE(in_child([] {
        int fd = memfd_create("counters", MFD_CLOEXEC);
        static hf_counters_shared told;
        if (ftruncate(fd, HF_SHARED_SLABS * HF_SLAB_COUNTERS_BYTES) != 0 || !hf_thread_counters_share(fd, 0, &told))
            return false;
        auto *seen = static_cast<hf_thread_counters *>(
            mmap(nullptr, HF_SHARED_SLABS * HF_SLAB_COUNTERS_BYTES, PROT_READ, MAP_SHARED, fd, 0));
        close(fd);
        hf_count(hf_self(), acquisitions);
        std::thread([] {
            hf_count(hf_self(), acquisitions);
            hf_count(hf_self(), acquisitions);
        }).join();
        return seen[0].acquisitions == 1 && seen[1].acquisitions == 2 && seen[1].next_look == HF_FIRST_LOOK;
    }));
}

// Its file is closed by then. Shown able to fail: with the pieces of the file mapped from its start again.
TEST(thread_record, CountersOfLaterSlabsAreSharedToo) {
    EXPECT_TRUE(in_child([] {
        const std::size_t bytes = HF_SHARED_SLABS * HF_SLAB_COUNTERS_BYTES;
        const std::uint64_t records = 3 * HF_SLAB_RECORDS;
        static hf_counters_shared told;
        int fd = memfd_create("counters", MFD_CLOEXEC);
        if (ftruncate(fd, bytes) != 0 || !hf_thread_counters_share(fd, 0, &told))
            return false;
        auto *seen = static_cast<hf_thread_counters *>(mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0));
        close(fd);
        for (std::uint64_t i = 0; i < records; i++) { // as new threads would
            if (i > 0)
                hf_self_record = nullptr;
            hf_store_relaxed(&hf_counters(hf_self())->acquisitions, i + 1);
        }
        for (std::uint64_t i = 0; i < records; i++)
            if (seen[i].acquisitions != i + 1)
                return false;
        return told.slabs == 3 && told.refused == 0;
    }));
}

TEST(thread_record, WithoutMemoryThreadsShareOneThatIsNeverQueued) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "a sanitizer's own memory does not fit under the limit";
#else
    EXPECT_TRUE(in_child([] {
        rlimit none = {.rlim_cur = 1, .rlim_max = 1};
        setrlimit(RLIMIT_AS, &none);
        for (;;) { // as new threads would, until the slab is used up and there is no memory for another
            hf_self_record = nullptr;
            hf_thread_record *self = hf_self();
            if (self->tid != 0)
                continue;
            hf_count(self, acquisitions);
            return self->critical.queue_state != HF_QUEUE_IDLE &&
                   hf_tid(self) == static_cast<uint32_t>(syscall(SYS_gettid));
        }
    }));
#endif
}

} // namespace
