// SPDX-License-Identifier: MIT OR Apache-2.0
// The queue of one worker: what its owner gets and what others can take, and that each entry comes out once.
//
// Shown able to fail: see docs/coroutines-checks.md.
#include "worker_queue.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace {

using holdfast::coro::worker_queue;
using entry = worker_queue::entry;
using numbers = std::vector<std::uintptr_t>;

// Handles that nobody resumes: numbers, from 1.
entry numbered(std::uintptr_t number, bool rotated = false) {
    return {std::coroutine_handle<>::from_address(reinterpret_cast<void *>(number << 4)), rotated};
}
std::uintptr_t number_of(const entry &one) {
    return reinterpret_cast<std::uintptr_t>(one.handle.address()) >> 4;
}

numbers from_to(std::uintptr_t first, std::uintptr_t last) {
    numbers all(last - first + 1);
    std::iota(all.begin(), all.end(), first);
    return all;
}

class CoroWorkerQueue : public testing::Test {
protected:
    // How many of first..last found room.
    std::size_t put(std::uintptr_t first, std::uintptr_t last, bool rotated = false) {
        std::vector<entry> all;
        for (std::uintptr_t number : from_to(first, last))
            all.push_back(numbered(number, rotated));
        return queue_->put(all.data(), all.size());
    }
    numbers get(std::size_t count) {
        numbers all;
        entry one;
        while (all.size() < count && queue_->get(one))
            all.push_back(number_of(one));
        return all;
    }
    numbers steal(std::size_t count_max) {
        std::vector<entry> batch(count_max);
        batch.resize(queue_->steal(batch.data(), count_max));
        numbers all;
        for (const entry &one : batch)
            all.push_back(number_of(one));
        return all;
    }

    std::unique_ptr<worker_queue> queue_ = std::make_unique<worker_queue>();
};

constexpr std::size_t block = worker_queue::block, capacity = worker_queue::capacity;

TEST_F(CoroWorkerQueue, ItsOwnerGetsWhatItPutInOrder) {
    std::uintptr_t next_put = 1, next_got = 1;
    for (int round = 0; round < 100; round++) { // many times around the slots
        std::size_t count = 1 + static_cast<std::size_t>(round) % 100;
        ASSERT_EQ(put(next_put, next_put + count - 1), count);
        next_put += count;
        EXPECT_FALSE(queue_->looks_empty());
        ASSERT_EQ(get(1000), from_to(next_got, next_put - 1));
        next_got = next_put;
        EXPECT_TRUE(queue_->looks_empty());
    }
}

TEST_F(CoroWorkerQueue, WhatFindsNoRoomIsLeftToTheCaller) {
    EXPECT_EQ(put(1, capacity + 10), capacity);
    EXPECT_EQ(put(900, 900), 0u);
    EXPECT_EQ(get(3), from_to(1, 3));
    EXPECT_EQ(put(capacity + 1, capacity + 10), 3u);
    EXPECT_EQ(get(1000), from_to(4, capacity + 3));
    EXPECT_TRUE(queue_->looks_empty());
}

TEST_F(CoroWorkerQueue, ThievesTakeTheOldestBehindTheOwnersBlock) {
    put(1, 3 * block);
    EXPECT_EQ(steal(4), from_to(block + 1, block + 4));
    EXPECT_EQ(steal(1000), from_to(block + 5, block + 5 + (2 * block - 4) / 2 - 1));
    EXPECT_EQ(get(block + 1).back(), block + 5 + (2 * block - 4) / 2); // its block, and the oldest that is left
}

// pool.P1 (worker_sleep.hpp): whatever the owner runs, others find what it has.
TEST_F(CoroWorkerQueue, ThievesRecallFromTheOwnersBlock) {
    put(1, 8);
    EXPECT_EQ(steal(1000), from_to(5, 8));
    EXPECT_EQ(steal(1000), from_to(3, 4));
    put(9, 10);
    EXPECT_EQ(steal(1), from_to(9, 9)); // put after a recall: anybody's
    EXPECT_EQ(get(1000), (numbers{1, 2, 10}));
    EXPECT_TRUE(queue_->looks_empty());
    put(11, 11);
    EXPECT_EQ(steal(1000), from_to(11, 11));
    EXPECT_TRUE(queue_->looks_empty());
    EXPECT_TRUE(get(1).empty());
    put(12, 13);
    EXPECT_EQ(get(1000), from_to(12, 13));
}

TEST_F(CoroWorkerQueue, CountsGuests) {
    EXPECT_FALSE(queue_->has_guests());
    put(1, 4, true);
    EXPECT_FALSE(queue_->has_guests());
    put(5, 6);
    EXPECT_TRUE(queue_->has_guests());
    EXPECT_EQ(steal(1000), from_to(4, 6));
    EXPECT_FALSE(queue_->has_guests());
    put(7, 7);
    EXPECT_EQ(get(1000), (numbers{1, 2, 3, 7}));
    EXPECT_FALSE(queue_->has_guests());
}

// The owner puts and gets a few at a time, so that thieves are in its block all the time.
TEST_F(CoroWorkerQueue, EachEntryComesOutOnce) {
    constexpr std::uintptr_t entries = 200'000;
    constexpr unsigned thieves = 3;
    std::vector<std::atomic<unsigned char>> times(entries + 1);
    std::atomic<std::uintptr_t> out = 0;
    std::atomic<bool> over = false;
    auto count = [&](const entry &one) {
        times[number_of(one)].fetch_add(1, std::memory_order_relaxed);
        out.fetch_add(1, std::memory_order_relaxed);
    };
    std::vector<std::thread> all;
    for (unsigned i = 0; i < thieves; i++)
        all.emplace_back([&] {
            entry batch[16];
            while (!over.load()) {
                std::size_t got = queue_->steal(batch, 16);
                for (std::size_t k = 0; k < got; k++)
                    count(batch[k]);
                if (got == 0)
                    std::this_thread::yield();
            }
        });
    std::minstd_rand random(1);
    entry one;
    for (std::uintptr_t next = 1; next <= entries;) {
        std::uintptr_t last = std::min(entries, next + random() % (random() % 64 == 0 ? 2 * capacity : 4));
        next += put(next, last);
        for (unsigned i = static_cast<unsigned>(random() % 4); i > 0 && queue_->get(one); i--)
            count(one);
        if (random() % 256 == 0)
            std::this_thread::yield();
    }
    while (!queue_->looks_empty())
        if (queue_->get(one))
            count(one);
    over = true;
    for (std::thread &thief : all)
        thief.join();
    EXPECT_EQ(out.load(), entries);
    for (std::uintptr_t number = 1; number <= entries; number++)
        ASSERT_EQ(times[number].load(), 1) << number;
}

} // namespace
