// SPDX-License-Identifier: MIT OR Apache-2.0
// Classes of threads: those that the program makes, and those that follow threads' names.
//
// Shown able to fail: a number at a name's end, or what separates it, not left out (AKindIsANameWithoutItsNumber);
// hf_thread_follow_name that does nothing (ThreadsOfOneKind...), or looks once only (AThreadThatIsNamedLater...);
// hf_thread_look_at_name that does not ask whether the class was chosen (AClassThatIsSetCounts); hf_slices_share_of
// that makes the thread of a class's share nobody, or leaves it the first one (AClassOfOneThread...).
#include <atomic>
#include <barrier>
#include <csignal>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>

#include "holdfast/uscl.h"
#include "lock/scl/contended_uscl.hpp"
#include "lock/scl/slices.h"
#include "lock/scl/thread_class.h"
#include "posix/held_up.hpp"
#include "posix/threads_and_processes.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint64_t class_seven = 7u << 1 | HF_CLASS_IS_MADE;

void lock_once(hf_uscl_t &lock) {
    hf_uscl_lock(&lock);
    hf_uscl_unlock(&lock);
}

unsigned shares_of(const hf_uscl_t &lock, std::uint64_t own_class) {
    unsigned count = 0;
    for (const hf_share *share = lock.slices->shares; share; share = share->next)
        count += share->own_class == own_class;
    return count;
}

class uscl_class : public testing::Test {
protected:
    hf_uscl_t lock = HF_USCL_INIT;

    void SetUp() override {
        hf_thread_kinds_are_classes();
        hf_uscl_set_slice(&lock, 0);
        contend(lock);
    }
    void TearDown() override { hf_uscl_destroy(&lock); }
};

TEST_F(uscl_class, AKindIsANameWithoutItsNumber) {
    std::uint64_t pool = hf_class_of_name("pool");
    for (const char *name : {"pool1", "pool-1", "pool-22", "pool 3", "pool #4", "pool_0005", "pool:6", "pool/7"})
        EXPECT_EQ(hf_class_of_name(name), pool) << name;
    for (const char *name : {"pool-", "poo", "pool-1a", "1pool", "", "2"})
        EXPECT_NE(hf_class_of_name(name), pool) << name;
    EXPECT_EQ(hf_class_of_name("17"), hf_class_of_name(""));
    EXPECT_EQ(hf_class_of_name("fifteen-chars-1"), hf_class_of_name("fifteen-chars-9"));
    EXPECT_NE(hf_class_of_name("fifteen-chars-a"), hf_class_of_name("fifteen-chars-b"));
    for (const char *name : {"", "pool", "writer"})
        EXPECT_EQ(hf_class_of_name(name) & HF_CLASS_IS_MADE, HF_CLASS_IS_MADE) << name;
}

TEST_F(uscl_class, ThreadsOfOneKindHaveOneShare) {
    hf_uscl_lock(&lock);
    team waiting;
    for (const char *name : {"pool-1", "pool-2", "writer"})
        waiting.add([&, name] {
            pthread_setname_np(pthread_self(), name);
            lock_once(lock);
        });
    // The first to come is chosen, and waits at the word.
    EXPECT_TRUE(eventually([&] { return hf_load_relaxed(&lock.slices->waiters) == 2; }));
    sigset_t saved;
    hf_slices_lock(lock.slices, hf_self(), &saved);
    unsigned pools = shares_of(lock, hf_class_of_name("pool")), writers = shares_of(lock, hf_class_of_name("writer"));
    hf_slices_unlock(lock.slices, hf_self(), &saved);
    hf_uscl_unlock(&lock);
    EXPECT_EQ(pools, 1u);
    EXPECT_EQ(writers, 1u);
}

TEST_F(uscl_class, AThreadThatIsNamedLaterIsLookedAtAgain) {
    std::barrier both(2);
    std::uint64_t before = 0, after = 0;
    std::thread worker([&] {
        lock_once(lock);
        before = hf_self()->share_class;
        both.arrive_and_wait();
        both.arrive_and_wait(); // named by its creator
        lock_once(lock);
        after = hf_self()->share_class;
    });
    both.arrive_and_wait();
    pthread_setname_np(worker.native_handle(), "worker-12");
    both.arrive_and_wait();
    worker.join();
    EXPECT_EQ(before, hf_self()->share_class) << "its creator's name, at first";
    EXPECT_EQ(after, hf_class_of_name("worker"));
}

TEST_F(uscl_class, AClassThatIsSetCounts) {
    std::thread([&] {
        pthread_setname_np(pthread_self(), "pool-1");
        hf_uscl_set_class(7);
        lock_once(lock);
        EXPECT_EQ(hf_self()->share_class, class_seven);
        hf_uscl_set_class(0);
        lock_once(lock);
        EXPECT_EQ(hf_self()->share_class, hf_class_of_name("pool"));
    }).join();
}

TEST_F(uscl_class, ATryFollowsTheNameToo) {
    std::thread([&] {
        pthread_setname_np(pthread_self(), "trier");
        if (hf_uscl_trylock(&lock))
            hf_uscl_unlock(&lock);
        EXPECT_EQ(hf_self()->share_class, hf_class_of_name("trier"));
    }).join();
}

TEST_F(uscl_class, AForkedChildIsOfItsParentsKind) {
    lock_once(lock);
    std::uint64_t parents = hf_self()->share_class;
    EXPECT_NE(parents & HF_CLASS_IS_KIND, 0u);
    child_process child([&] {
        lock_once(lock);
        return hf_self()->share_class == parents;
    });
    EXPECT_TRUE(child.succeeds());
}

// What a thread alone in its class gets: its slice is over when it can't use it.
TEST_F(uscl_class, AClassOfOneThreadIsThatThread) {
    hf_slices slices{};
    hf_thread_record one{}, two{}, three{};
    one.share_class = two.share_class = three.share_class = class_seven;
    hf_share *share = hf_slices_share_of(&slices, &one, 1);
    EXPECT_EQ(share->thread, &one);
    EXPECT_EQ(hf_slices_share_of(&slices, &one, 2)->thread, &one);
    one.share_class = 0; // exited
    EXPECT_EQ(hf_slices_share_of(&slices, &two, 3), share);
    EXPECT_EQ(share->thread, &two);
    EXPECT_EQ(hf_slices_share_of(&slices, &three, 4)->thread, nullptr) << "there are two";
    EXPECT_EQ(hf_slices_share_of(&slices, &two, 5)->thread, nullptr);
}

// The rest of each one's slice would take minutes together.
TEST_F(uscl_class, ASliceOfAClassOfOneThreadThatExitsIsOver) {
    child_process child([&] {
        hf_uscl_set_slice(&lock, HF_USCL_SLICE_US_MAX);
        contend(lock);
        for (int i = 0; i < 2000; i++)
            std::thread([&, i] {
                pthread_setname_np(pthread_self(), i % 2 ? "odd" : "even");
                lock_once(lock);
            }).join();
        return true;
    });
    EXPECT_TRUE(child.succeeds());
}

unsigned shares_now(hf_uscl_t &lock, std::uint64_t own_class) {
    sigset_t saved;
    hf_slices_lock(lock.slices, hf_self(), &saved);
    unsigned count = shares_of(lock, own_class);
    hf_slices_unlock(lock.slices, hf_self(), &saved);
    return count;
}

// A share that others have got meanwhile: what it does inside would count as theirs. Shown able to fail: begin_slice
// with the share of before.
TEST_F(uscl_class, ALateForgottenWaiterUsesAShareOfItsOwn) {
    holding_up handler;
    std::atomic<std::uint64_t> late_class = 0;
    std::uint64_t holds_as = 0;
    hf_uscl_set_inactive(&lock, 1);
    hf_uscl_lock(&lock);
    team late;
    late.add([&] {
        hf_uscl_set_class(7);
        late_class = hf_self()->share_class;
        hf_uscl_lock(&lock);
        holds_as = lock.slices->holder->own_class;
        hf_uscl_unlock(&lock);
    });
    EXPECT_TRUE(eventually([&] { return late_class != 0 && shares_now(lock, late_class) == 1; }));
    a_short_while(); // it is at the word
    handler.hold_up(late.handle(0));
    hf_uscl_unlock(&lock);
    EXPECT_TRUE(eventually([&] {
        std::thread([&] {
            hf_uscl_set_class(8);
            lock_once(lock);
        }).join();
        return shares_now(lock, late_class) == 0;
    }));
    std::thread([&] {
        hf_uscl_set_class(9); // takes a spare share
        lock_once(lock);
    }).join();
    handler.let_go();
    late.join();
    EXPECT_EQ(holds_as, late_class);
}

} // namespace
} // namespace holdfast::test
