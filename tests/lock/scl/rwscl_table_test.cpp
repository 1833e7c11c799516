// SPDX-License-Identifier: MIT OR Apache-2.0
// RW-SCL locks found by the address of an object: which object gets which lock, and what a forked child finds.
//
// Shown able to fail: is_left that is always true (IsNotGivenAway), a lock that is looked for by its place alone
// (OfACopyIsAnother), start_over without forget_who_waits (InAChild), with a thread that leaves a drain
// counted twice or half-opened gates taken for closed (InAChildAReaderIsInside), or with a mark that is known from the
// start of the repair on (InAChildWithoutHandlers...).
#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

#include "lock/scl/rwscl_state.h"
#include "lock/scl/rwscl_table.h"
#include "park/word_lock.h"
#include "posix/threads_and_processes.hpp"

namespace holdfast::test {
namespace {

struct object {
    hf_rwscl_entry *place = nullptr;
    hf_rwscl_options options{};
    hf_rwscl_t *lock() { return hf_rwscl_of(this, &place, &options); }
    void destroy() { hf_rwscl_give_back(this, &place); }
};

TEST(rwscl_table, GivesEachObjectALockOfItsOwn) {
    std::vector<object> objects(1000);
    std::set<hf_rwscl_t *> locks;
    for (object &one : objects) {
        locks.insert(one.lock());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.lock()) % 64, 0u);
    }
    EXPECT_EQ(locks.size(), objects.size());
    EXPECT_EQ(locks.count(nullptr), 0u);
    for (object &one : objects)
        EXPECT_EQ(locks.count(one.lock()), 1u) << "the same at the next call";
    for (object &one : objects)
        one.destroy();
    std::vector<object> others(objects.size());
    for (object &one : others)
        EXPECT_EQ(locks.count(one.lock()), 1u) << "memory is used again";
    for (object &one : others)
        one.destroy();
}

TEST(rwscl_table, GivesALockItsOptions) {
    object one{.options = {.readers = 9, .writers = 1, .slice_us_plus_1 = 501}};
    EXPECT_EQ(one.lock()->weights, 9u << 16 | 1u);
    EXPECT_EQ(one.lock()->slice, 501u);
    one.destroy();
    object plain;
    EXPECT_EQ(plain.lock()->weights, 0u) << "nothing is left of the one before";
    EXPECT_EQ(plain.lock()->slice, 0u);
    plain.destroy();
}

TEST(rwscl_table, OfTheSameAddressIsTheSameMemory) {
    object one;
    hf_rwscl_t *first = one.lock();
    hf_rwscl_write_lock(first);
    hf_rwscl_write_unlock(first);
    for (int round = 0; round < 100; round++) {
        one.place = nullptr; // made anew, without having been destroyed
        EXPECT_EQ(one.lock(), first);
        EXPECT_EQ(one.lock()->state, 0u) << "as new";
    }
    one.destroy();
}

TEST(rwscl_table, OfACopyIsAnother) {
    object one, copy;
    hf_rwscl_t *lock = one.lock();
    copy.place = one.place;
    EXPECT_NE(copy.lock(), lock);
    EXPECT_EQ(one.lock(), lock);
    copy.destroy();
    EXPECT_EQ(one.lock(), lock) << "the copy has destroyed its own";
    one.destroy();
}

// Shown able to fail: an entry taken from the object.
TEST(rwscl_table, WhatNobodyHasMadeMayBeDestroyed) {
    object used, never;
    hf_rwscl_t *lock = used.lock();
    never.place = used.place;
    never.destroy();
    EXPECT_EQ(used.lock(), lock) << "still its own";
    never.place = reinterpret_cast<hf_rwscl_entry *>(std::uintptr_t{0xaaaaaaaaaaaaaaa8});
    never.destroy();
    used.destroy();
}

TEST(rwscl_table, IsNotGivenAwayWhileSomebodyIsAboutToLeave) {
    for (bool writes : {true, false}) {
        object one;
        hf_rwscl_t *lock = one.lock();
        writes ? hf_rwscl_write_lock(lock) : hf_rwscl_read_lock(lock);
        one.destroy();
        std::vector<object> others(2000); // more than were ever spare
        for (object &other : others)
            EXPECT_NE(other.lock(), lock);
        EXPECT_NE(one.lock(), lock) << "not at its own address either";
        writes ? hf_rwscl_write_unlock(lock) : hf_rwscl_read_unlock(lock);
        one.destroy();
        for (object &other : others)
            other.destroy();
    }
}

TEST(rwscl_table, IsMadeOnce) {
    for (int round = 0; round < 200; round++) {
        object one;
        std::atomic<int> ready = 0;
        hf_rwscl_t *found[3] = {};
        std::vector<std::thread> threads;
        for (hf_rwscl_t *&mine : found)
            threads.emplace_back([&] {
                ready++;
                while (ready < 3)
                    std::this_thread::yield();
                mine = one.lock();
            });
        for (std::thread &thread : threads)
            thread.join();
        EXPECT_EQ(found[0], found[1]);
        EXPECT_EQ(found[0], found[2]);
        one.destroy();
    }
}

void write_and_read(hf_rwscl_t *lock) {
    hf_rwscl_write_lock(lock);
    hf_rwscl_write_unlock(lock);
    hf_rwscl_read_lock(lock);
    hf_rwscl_read_unlock(lock);
    hf_rwscl_write_lock(lock);
    hf_rwscl_write_unlock(lock);
}

// A reader waits for this thread's write, asleep: its timekeeper is not there in the child.
TEST(rwscl_table, InAChildNobodyWaitsForAWriter) {
    hf_rwscl_table_watch_forks();
    object one;
    hf_rwscl_t *lock = one.lock();
    hf_rwscl_write_lock(lock);
    std::thread reader([&] { hf_rwscl_read_lock(lock), hf_rwscl_read_unlock(lock); });
    while (!(hf_load_relaxed(&lock->state) & HF_RWSCL_TIMEKEEPER))
        std::this_thread::yield();
    child_process child([&] {
        if (one.lock() != lock)
            return false;
        hf_rwscl_write_unlock(lock);
        write_and_read(lock);
        return true;
    });
    EXPECT_TRUE(child.succeeds());
    hf_rwscl_write_unlock(lock);
    reader.join();
    one.destroy();
}

// A writer waits for this thread's read, with the word in its hands: before it closes the gates, and draining.
TEST(rwscl_table, InAChildNobodyWaitsForReaders) {
    hf_rwscl_table_watch_forks();
    for (uint32_t state : {uint32_t(HF_RWSCL_FRONT), uint32_t(HF_RWSCL_WRITERS | HF_RWSCL_FRONT)}) {
        object one{.options = {.readers = 1, .writers = 1, .slice_us_plus_1 = 20001}};
        hf_rwscl_t *lock = one.lock();
        write_and_read(lock);
        hf_rwscl_read_lock(lock); // begins a slice of the readers'
        std::thread writer([&] { hf_rwscl_write_lock(lock), hf_rwscl_write_unlock(lock); });
        while ((hf_load_relaxed(&lock->state) & (HF_RWSCL_WRITERS | HF_RWSCL_FRONT)) != state)
            std::this_thread::yield();
        child_process child([&] {
            if (one.lock() != lock)
                return false;
            hf_rwscl_read_unlock(lock);
            write_and_read(lock);
            return true;
        });
        EXPECT_TRUE(child.succeeds());
        hf_rwscl_read_unlock(lock);
        writer.join();
        one.destroy();
    }
}

// As other threads left it, which are not in the child: one reads that has forked.
TEST(rwscl_table, InAChildAReaderIsInsideWhateverItsLockWasInTheMiddleOf) {
    struct {
        const char *what;
        uint32_t state, gate, draining;
    } moments[] = {
        {"another reader has left before the front writer added up", HF_RWSCL_WRITERS | HF_RWSCL_FRONT,
         HF_GATE_READER | HF_GATE_CLOSED, 0u - HF_DRAIN_READER},
        {"it has added up, and another reader has left since", HF_RWSCL_WRITERS | HF_RWSCL_FRONT,
         (0u - HF_GATE_READER) | HF_GATE_CLOSED, HF_DRAIN_READER},
        {"the gates are open, and the state does not say so yet", HF_RWSCL_WRITERS, HF_GATE_READER, 0},
    };
    hf_rwscl_table_watch_forks();
    for (const auto &moment : moments) {
        object one;
        hf_rwscl_t *lock = one.lock();
        hf_rwscl_t before = *lock;
        hf_store_relaxed(&lock->state, moment.state);
        hf_store_relaxed(&lock->gates[0].readers, moment.gate);
        hf_store_relaxed(&lock->draining, moment.draining);
        hf_store_relaxed(&lock->word, uint32_t(HF_WORD_HELD));
        child_process child([&] {
            if (one.lock() != lock || hf_rwscl_write_trylock(lock))
                return false;
            hf_rwscl_read_unlock(lock);
            write_and_read(lock);
            return true;
        });
        EXPECT_TRUE(child.succeeds()) << moment.what;
        hf_store_relaxed(&lock->state, before.state);
        hf_store_relaxed(&lock->gates[0].readers, before.gates[0].readers);
        hf_store_relaxed(&lock->draining, before.draining);
        hf_store_relaxed(&lock->word, before.word);
        one.destroy();
    }
}

// Of _Fork(), which runs no handlers: the first threads to come find the table in disorder, all at once. What is to be
// forgotten of the lock that was made first is forgotten last, after that of many others.
TEST(rwscl_table, InAChildWithoutHandlersNobodyUsesALockBeforeItIsInOrder) {
    hf_rwscl_table_watch_forks();
    object first;
    std::vector<object> others(40'000); // more than were ever spare: most are found before the first
    hf_rwscl_t *lock = first.lock();
    for (object &one : others)
        hf_store_relaxed(&one.lock()->waiting_readers, 1u);
    hf_store_relaxed(&lock->waiting_readers, 1u);
    for (int round = 0; round < 5; round++) {
        child_process child(
            [&] { return both_see([&] { return hf_load_relaxed(&first.lock()->waiting_readers) == 0; }); }, _Fork);
        EXPECT_TRUE(child.succeeds());
    }
    hf_store_relaxed(&lock->waiting_readers, 0u);
    for (object &one : others) {
        hf_store_relaxed(&one.lock()->waiting_readers, 0u);
        one.destroy();
    }
    first.destroy();
}

} // namespace
} // namespace holdfast::test
