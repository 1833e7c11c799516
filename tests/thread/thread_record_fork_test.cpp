// SPDX-License-Identifier: MIT OR Apache-2.0
// What a forked child finds where its parent's other threads were taking and giving back records: now and then one of
// them holds the lock of all records, and is not in the child.
//
// Shown able to fail: a pool that only our own fork handler puts in order (all four), slabs that are not forgotten
// (TheParentsRecordsAreNotTheChilds), a count that goes on, or counts a record that takes another's place
// (ThreadsAreCountedAnew).
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

#include "posix/threads_and_processes.hpp"
#include "thread/thread_record.h"

namespace holdfast::test {
namespace {

constexpr int rounds = 200;

// Threads that take the pool's lock all the time: they have records, and ask for new classes.
class busy_pool {
    std::atomic<bool> over = false;
    std::atomic<int> begun = 0;
    std::vector<std::thread> threads;

public:
    busy_pool() {
        constexpr int many = 3;
        for (int i = 0; i < many; i++)
            threads.emplace_back([this] {
                hf_thread_record *self = hf_self();
                for (begun++; !over;)
                    hf_thread_set_class(self, 0);
            });
        while (begun < many)
            std::this_thread::yield();
    }
    ~busy_pool() {
        over = true;
        for (std::thread &each : threads)
            each.join();
    }
};

// Forks from a thread that has no record yet, until a child does not succeed. Returns how many did.
int successes(pid_t (*how)(), const std::function<bool()> &body, int tries = rounds) {
    int succeeded = 0;
    std::thread([&] {
        while (succeeded < tries && child_process(body, how).succeeds())
            succeeded++;
    }).join();
    return succeeded;
}

// A record of its own, also for a thread of the child; both are given back.
bool has_records() {
    hf_thread_record *self = hf_self(), *others = nullptr;
    hf_thread_set_class(self, 0);
    std::thread([&others] { others = hf_self(); }).join();
    return self->tid == static_cast<uint32_t>(getpid()) && others != self && others->tid != 0;
}

class thread_record_in_child : public testing::Test {
#ifdef __SANITIZE_THREAD__
    void SetUp() override { GTEST_SKIP() << "ThreadSanitizer keeps no order in a child of several threads"; }
#endif
};

// _Fork runs no handlers.
TEST_F(thread_record_in_child, IsTakenWhateverOthersWereAboutIn_Fork) {
    busy_pool pool;
    EXPECT_EQ(successes(_Fork, has_records), rounds);
}

// While others start and exit. The child starts none: after _Fork() glibc's own list of stacks may be locked.
TEST_F(thread_record_in_child, IsTakenWhileOthersStartAndExit) {
    std::atomic<bool> over = false;
    std::vector<std::thread> starters;
    for (int i = 0; i < 2; i++)
        starters.emplace_back([&over] {
            while (!over)
                std::thread([] { hf_self(); }).join();
        });
    constexpr int more = 20 * rounds; // they hold the lock for a moment only
    EXPECT_EQ(successes(
                  _Fork, [] { return hf_self()->tid == static_cast<uint32_t>(getpid()); }, more),
              more);
    over = true;
    for (std::thread &each : starters)
        each.join();
}

TEST_F(thread_record_in_child, TheParentsRecordsAreNotTheChilds) {
    std::set<hf_thread_record *> parents{hf_self()};
    for (int i = 0; i < 10; i++)
        std::thread([&parents] { parents.insert(hf_self()); }).join(); // back among the free ones
    EXPECT_EQ(successes(_Fork,
                        [&parents] {
                            bool is_new = !parents.contains(hf_self());
                            std::thread([&] { is_new = is_new && !parents.contains(hf_self()); }).join();
                            return is_new;
                        }),
              rounds);
}

TEST_F(thread_record_in_child, ThreadsAreCountedAnew) {
    busy_pool pool;
    EXPECT_EQ(successes(
                  fork,
                  [] {
                      hf_self();
                      return hf_load_relaxed(&hf_threads_with_records) == 1;
                  },
                  1),
              1);
}

// A handler that was registered before ours, so it runs before ours in a child, and starts a thread that stays.
struct {
    std::atomic<bool> armed;
    std::atomic<hf_thread_record *> record;
    std::atomic<bool> is_over;
    pthread_t thread;
} early;

void *stay(void *) {
    early.record = hf_self();
    hf_thread_set_class(early.record, 0);
    while (!early.is_over)
        std::this_thread::yield();
    return nullptr;
}

void start_early() {
    if (!early.armed)
        return;
    pthread_create(&early.thread, nullptr, stay, nullptr);
    while (!early.record)
        std::this_thread::yield();
}

// 101: before the constructors that have no number.
__attribute__((constructor(101))) void watch_forks_early() {
    pthread_atfork(nullptr, nullptr, start_early);
}

TEST_F(thread_record_in_child, IsTakenByAThreadOfAnEarlierForkHandler) {
    busy_pool pool;
    early.armed = true;
    EXPECT_EQ(successes(fork,
                        [] {
                            hf_thread_record *own = hf_self(), *earlys = early.record;
                            bool are_two = own != earlys && own->tid == static_cast<uint32_t>(getpid());
                            std::thread([&] { are_two = are_two && hf_self() != own && hf_self() != earlys; }).join();
                            early.is_over = true;
                            pthread_join(early.thread, nullptr);
                            return are_two;
                        }),
              rounds);
    early.armed = false;
}

} // namespace
} // namespace holdfast::test
