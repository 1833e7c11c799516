// SPDX-License-Identifier: MIT OR Apache-2.0
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
    std::set<hf_thread_record *> records;
    for (int i = 0; i < 20000; i++) {
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
    EXPECT_LT(records.size(), 5000u) << "records of exited threads are handed out again";
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
        if (ftruncate(fd, HF_SHARED_SLABS * HF_SLAB_COUNTERS_BYTES) != 0 || !hf_thread_counters_share(fd, 0))
            return false;
        auto *seen = static_cast<hf_thread_counters *>(
            mmap(nullptr, HF_SHARED_SLABS * HF_SLAB_COUNTERS_BYTES, PROT_READ, MAP_SHARED, fd, 0));
        close(fd);
        hf_count(hf_self(), acquisitions);
        std::thread([] {
            hf_count(hf_self(), acquisitions);
            hf_count(hf_self(), acquisitions);
        }).join();
        return seen[0].acquisitions == 1 && seen[1].acquisitions == 2 && seen[1].next_noted == HF_NOTED_PERIOD;
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
