// SPDX-License-Identifier: MIT OR Apache-2.0
// Real-time threads' order at a lock, and that others leave it to them. One thread plays them all.
//
// Shown able to fail: join() that puts equals in front; a child that does not start over; give_way() that returns at
// once, in flexguard.c and in read_write_lock.c.
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern "C" {
#include "base/clock.h"
#include "lock/flexguard/flexguard_lock.h"
#include "lock/posix/read_write_lock.h"
#include "lock/wait/realtime_waiters.h"
}

namespace {

struct realtime_waiters : testing::Test {
    uint32_t word = HF_WORD_FREE;
    std::vector<std::unique_ptr<hf_realtime_waiter>> all;

    hf_realtime_waiter &join(unsigned priority, const uint32_t *at) {
        all.push_back(std::make_unique<hf_realtime_waiter>());
        hf_realtime_join(all.back().get(), at, priority);
        return *all.back();
    }
    void TearDown() override {
        for (auto &waiter : all)
            hf_realtime_leave(waiter.get());
    }
};

TEST_F(realtime_waiters, AreInOrderOfPriorityAndThenOfComing) {
    hf_realtime_waiter &low = join(1, &word), &first = join(20, &word), &second = join(20, &word);
    auto who_is_first = [&] {
        std::vector<hf_realtime_waiter *> firsts;
        for (hf_realtime_waiter *waiter : {&low, &first, &second}) {
            if (waiter->word && waiter->is_first)
                firsts.push_back(waiter);
        }
        return firsts;
    };
    for (hf_realtime_waiter *next : {&first, &second, &low}) {
        EXPECT_EQ(who_is_first(), std::vector{next});
        EXPECT_TRUE(hf_realtime_waits_for(&word));
        hf_realtime_leave(next);
    }
    EXPECT_TRUE(who_is_first().empty());
    EXPECT_FALSE(hf_realtime_waits_for(&word));
    hf_realtime_leave(&low); // is nowhere
}

TEST_F(realtime_waiters, OfOneWordAreNotBehindThoseOfAnother) {
    std::vector<uint32_t> words(1000);
    for (const uint32_t &each : words)
        EXPECT_TRUE(join(5, &each).is_first);
    EXPECT_TRUE(std::all_of(words.begin(), words.end(), [](uint32_t &each) { return hf_realtime_waits_for(&each); }));
}

TEST_F(realtime_waiters, AreNotThereInAForkedChild) {
    join(5, &word);
    pid_t child = fork();
    if (child == 0) {
        bool none = !hf_realtime_waits_for(&word);
        hf_realtime_leave(all.back().get()); // who was forked in its wait
        hf_realtime_waiter own{};
        hf_realtime_join(&own, &word, 1);
        _exit(none && own.is_first && hf_realtime_waits_for(&word) ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TRUE(all.back()->is_first);
}

// Takes a free lock by its slow path, and says for how long that was put off.
template <class Take>
uint64_t put_off_ns(Take take) {
    uint64_t since_ns = hf_monotonic_ns();
    take();
    return hf_monotonic_ns() - since_ns;
}

// A real-time thread waits for it, and does not come.
TEST_F(realtime_waiters, AFreeWordIsLeftToThemForAWhile) {
    const hf_release_count none = 0;
    hf_queue_tail tail = nullptr;
    hf_realtime_expect();
    join(5, &word);
    uint64_t ns =
        put_off_ns([&] { EXPECT_EQ(hf_flexguard_wait(&word, &tail, &none, hf_self(), nullptr, HF_WORD_HELD), 0); });
    EXPECT_GE(ns, uint64_t{HF_GIVE_WAY_NS});
    EXPECT_NE(word, HF_WORD_FREE);
    hf_critical_leave(hf_self());
}

TEST_F(realtime_waiters, AFreeReaderWriterLockIsLeftToThemForAWhile) {
    hf_rw_lock lock{};
    hf_realtime_expect();
    join(5, &lock.state);
    uint64_t ns = put_off_ns([&] { EXPECT_EQ(hf_rw_wait_to_write(&lock, hf_self(), nullptr), 0); });
    EXPECT_GE(ns, uint64_t{HF_GIVE_WAY_NS});
    hf_rw_write_release(&lock, hf_self());
    hf_realtime_leave(all.back().get());
}

} // namespace
