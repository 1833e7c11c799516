// SPDX-License-Identifier: MIT OR Apache-2.0
// The queue of spinning waiters, step by step on records that stand for threads (queue.I3, I5).
#include <gtest/gtest.h>

#include "lock/wait/waiter_queue.h"

namespace {

struct waiter_queue : testing::Test {
    hf_queue_tail tail = nullptr;
    hf_thread_record a{}, b{}, c{};
};

TEST_F(waiter_queue, TheFirstIsTheHead) {
    hf_queue_enter(&tail, &a);
    EXPECT_TRUE(hf_queue_is_head(&a));
    EXPECT_FALSE(hf_queue_may_enter(&a)) << "in one queue at most";
    hf_queue_leave(&tail, &a);
    EXPECT_EQ(tail, nullptr);
    EXPECT_TRUE(hf_queue_may_enter(&a));
}

TEST_F(waiter_queue, LeavingHandsTheHeadOn) {
    hf_queue_enter(&tail, &a);
    hf_queue_enter(&tail, &b);
    hf_queue_enter(&tail, &c);
    EXPECT_FALSE(hf_queue_is_head(&b));
    hf_queue_leave(&tail, &a);
    EXPECT_TRUE(hf_queue_is_head(&b));
    EXPECT_FALSE(hf_queue_is_head(&c));
    hf_queue_leave(&tail, &b);
    EXPECT_TRUE(hf_queue_is_head(&c));
    hf_queue_leave(&tail, &c);
    EXPECT_EQ(tail, nullptr);
}

TEST_F(waiter_queue, LeavingFromTheMiddleMakesTwoHeads) {
    hf_queue_enter(&tail, &a);
    hf_queue_enter(&tail, &b);
    hf_queue_enter(&tail, &c);
    hf_queue_leave(&tail, &b);
    EXPECT_TRUE(hf_queue_is_head(&a));
    EXPECT_TRUE(hf_queue_is_head(&c)) << "nobody else would tell it";
}

TEST_F(waiter_queue, ALateHandOverDoesNotReachWhoHasLeft) {
    hf_queue_enter(&tail, &a);
    hf_queue_enter(&tail, &b);
    hf_queue_leave(&tail, &b);
    hf_queue_leave(&tail, &a); // still remembers b
    EXPECT_EQ(b.critical.queue_state, static_cast<uint32_t>(HF_QUEUE_IDLE))
        << "else it would sample critical for ever (I3)";
}

TEST_F(waiter_queue, ALeaverDoesNotWaitForEverForALink) {
    hf_queue_enter(&tail, &a);
    // b has taken the tail and stops before it links itself.
    b.critical.queue_state = HF_QUEUE_WAITING;
    tail = hf_queue_place(&b);
    hf_queue_leave(&tail, &a); // queue.I5
    EXPECT_EQ(a.critical.queue_state, static_cast<uint32_t>(HF_QUEUE_IDLE));
    EXPECT_EQ(tail, hf_queue_place(&b));
    // b wakes up, links itself to a thread that has left, and never becomes the head; it leaves like anyone.
    hf_store_release(&a.next, &b);
    EXPECT_FALSE(hf_queue_is_head(&b));
    hf_queue_leave(&tail, &b);
    EXPECT_EQ(tail, nullptr);
}

TEST_F(waiter_queue, ALateLinkDoesNotKeepTheTail) {
    hf_queue_enter(&tail, &a);
    a.next = &c; // from a queue that a has left long ago
    hf_queue_leave(&tail, &a);
    EXPECT_EQ(tail, nullptr) << "the tail decides who is last, not the link";
    EXPECT_EQ(c.critical.queue_state, static_cast<uint32_t>(HF_QUEUE_IDLE));
}

TEST_F(waiter_queue, AQueueThatNamesThreadsOfAForkedParentHeals) {
    tail = hf_queue_place(&c); // its thread is in the parent, behind whose back the child was forked
    c.critical.queue_state = HF_QUEUE_HEAD;
    hf_queue_enter(&tail, &a);
    EXPECT_FALSE(hf_queue_is_head(&a)) << "it waits in vain, for as long as its budget lasts";
    hf_queue_leave(&tail, &a);
    EXPECT_EQ(tail, nullptr);
    hf_queue_enter(&tail, &b);
    EXPECT_TRUE(hf_queue_is_head(&b));
    hf_queue_leave(&tail, &b);
}

// Shown able to fail: hf_queue_record that does not look whose it is.
TEST_F(waiter_queue, ATailOfAnotherProcessIsNotFollowed) {
    const uintptr_t own = hf_process_tag, another = own ^ (uintptr_t{1} << 48 | 1);
    EXPECT_NE(own, 0u);
    hf_process_tag = another;
    // There it is a record, and here no address at all.
    tail = hf_queue_place(reinterpret_cast<hf_thread_record *>(uintptr_t{HF_CACHE_LINE_BYTES}));
    hf_process_tag = own;
    hf_queue_enter(&tail, &a);
    EXPECT_TRUE(hf_queue_is_head(&a));
    EXPECT_EQ(tail, hf_queue_place(&a));
    hf_queue_tail theirs = hf_queue_record(tail) == &a ? tail : nullptr;
    hf_process_tag = another;
    EXPECT_EQ(hf_queue_record(theirs), nullptr) << "nor is ours by them";
    hf_process_tag = own;
    hf_queue_leave(&tail, &a);
    EXPECT_EQ(tail, nullptr);
}

} // namespace
