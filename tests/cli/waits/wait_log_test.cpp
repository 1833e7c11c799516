// SPDX-License-Identifier: MIT OR Apache-2.0
// Waits that are put together of what the kernel told: when they ended, and which threads held the lock meanwhile.
#include "cli/waits/wait_log.hpp"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <map>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace holdfast::cli {
namespace {

constexpr std::uint64_t some_lock = 0x1000;

// Of this process. Threads are numbers that nothing has.
class told_to_log : public testing::Test {
protected:
    static constexpr std::uint32_t first = 4'000'001, second = first + 1, third = first + 2, fourth = first + 3;

    static hf_wait_event event_of(hf_wait_event_kind kind, std::uint32_t waiter, std::uint64_t begun_ns,
                                  std::uint64_t at_ns) {
        return {.begun_ns = begun_ns,
                .at_ns = at_ns,
                .address = some_lock,
                .process_started_ns = 1,
                .held_since_ns = 0,
                .kind = kind,
                .process = static_cast<std::uint32_t>(getpid()),
                .waiter = waiter,
                .thread = waiter,
                .weight = 1,
                .look = HF_FUTEX_IS_TWO};
    }
    void begins(std::uint32_t waiter, std::uint64_t at_ns, bool for_lock = true) {
        hf_wait_event event = event_of(HF_WAIT_BEGINS, waiter, at_ns, at_ns);
        event.look = for_lock ? HF_FUTEX_IS_TWO : 0;
        log_.take(event, &nowhere_, keep_);
    }
    void released(std::uint32_t waiter, std::uint64_t begun_ns, std::uint32_t by, std::uint64_t at_ns,
                  std::uint64_t held_since_ns = 0) {
        hf_wait_event event = event_of(HF_WAIT_RELEASED, waiter, begun_ns, at_ns);
        event.thread = by;
        event.held_since_ns = held_since_ns;
        log_.take(event, &nowhere_, keep_);
    }
    void ends(std::uint32_t waiter, std::uint64_t begun_ns, std::uint64_t at_ns) {
        log_.take(event_of(HF_WAIT_ENDS, waiter, begun_ns, at_ns), nullptr, keep_);
    }
    void preempted(std::uint32_t thread, std::uint64_t begun_ns, std::uint64_t at_ns) {
        log_.take(event_of(HF_THREAD_PREEMPTED, thread, begun_ns, at_ns), nullptr, keep_);
    }
    std::map<std::uint32_t, std::uint64_t> held_ns_of(std::size_t wait) const {
        std::map<std::uint32_t, std::uint64_t> held;
        for (const wait_for_holder &part : ended_.at(wait).held_by)
            held[part.thread] += part.ns;
        return held;
    }

    hf_stack nowhere_{};
    std::vector<lock_wait> ended_;
    wait_log::sink keep_ = [this](const lock_wait &wait) { ended_.push_back(wait); };
    wait_log log_;
};

// At the begin of that function of the C library, which code of this file has called.
hf_stack called_from_here(const char *function) {
    hf_stack stack{};
    stack.instruction = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, function));
    auto caller = reinterpret_cast<std::uint64_t>(&called_from_here) + 1;
    stack.from = 0x10000;
#ifdef __aarch64__
    constexpr std::size_t stack_register = 31, link_register = 30;
    stack.registers[link_register] = caller;
    stack.known = 1ULL << link_register;
#else
    constexpr std::size_t stack_register = 7;
    std::memcpy(stack.content, &caller, sizeof(caller));
    stack.bytes = sizeof(caller);
#endif
    stack.registers[stack_register] = stack.from;
    stack.known |= 1ULL << stack_register;
    return stack;
}

using holders = std::map<std::uint32_t, std::uint64_t>;

TEST_F(told_to_log, AWaitLastsUntilItsThreadIsBack) {
    begins(first, 100);
    released(first, 100, second, 400);
    ends(first, 100, 450);
    ASSERT_EQ(ended_.size(), 1U);
    EXPECT_EQ(ended_[0].took_ns(), 350U);
    EXPECT_EQ(ended_[0].releaser, second);
    EXPECT_EQ(held_ns_of(0), (holders{{second, 350}}));
}

// The waiter slept again long after, and the switch back is not known. Shown able to fail: an end that is taken for the
// moment at which it was noticed.
TEST_F(told_to_log, AWaitWithAHiddenEndLastsUntilItsThreadWasWoken) {
    begins(first, 100);
    released(first, 100, second, 400);
    ends(first, 100, 0);
    ASSERT_EQ(ended_.size(), 1U);
    EXPECT_EQ(ended_[0].ended_ns, 400U);
    EXPECT_EQ(held_ns_of(0), (holders{{second, 300}}));
}

TEST_F(told_to_log, AWaitOfWhichNeitherWakeNorEndIsKnownIsLeftOut) {
    begins(first, 100);
    ends(first, 100, 0);
    EXPECT_TRUE(ended_.empty());
    log_.end_all(1000, keep_);
    EXPECT_TRUE(ended_.empty());
}

// The first held it for long; the others had it for 10 ns each. Shown able to fail: a wait whose whole time is put to
// the thread that woke the waiter.
TEST_F(told_to_log, ALockThatIsHandedOnWasHeldByEachForItsPart) {
    begins(second, 100);
    begins(third, 110);
    begins(fourth, 120);
    released(second, 100, first, 1000);
    ends(second, 100, 1002);
    released(third, 110, second, 1010);
    ends(third, 110, 1012);
    released(fourth, 120, third, 1020);
    ends(fourth, 120, 1025);
    ASSERT_EQ(ended_.size(), 3U);
    EXPECT_EQ(held_ns_of(0), (holders{{first, 902}}));
    EXPECT_EQ(held_ns_of(1), (holders{{first, 890}, {second, 12}}));
    EXPECT_EQ(held_ns_of(2), (holders{{first, 880}, {second, 10}, {third, 15}}));
}

// Shown able to fail: parts that begin with the first release that is known.
TEST_F(told_to_log, WhatWasReleasedBeforeTheWaitIsNotPartOfIt) {
    begins(second, 100);
    released(second, 100, first, 150);
    ends(second, 100, 151);
    begins(third, 200);
    released(third, 200, second, 300);
    ends(third, 200, 301);
    ASSERT_EQ(ended_.size(), 2U);
    EXPECT_EQ(held_ns_of(1), (holders{{second, 101}}));
}

// CPUs tell in an order of their own. Shown able to fail: releases that are kept as they come.
TEST_F(told_to_log, ReleasesMayComeOutOfOrder) {
    begins(second, 100);
    begins(third, 110);
    released(third, 110, second, 510);
    released(second, 100, first, 500);
    ends(third, 110, 515);
    ASSERT_EQ(ended_.size(), 1U);
    EXPECT_EQ(held_ns_of(0), (holders{{first, 390}, {second, 15}}));
}

// The word of a reader-writer lock, of which the kernel can't tell, in a function of that name: a lock all the same.
// Shown able to fail: a log that goes by the word alone.
TEST_F(told_to_log, AReaderWriterLockIsHandedOnLikeAnyOther) {
    nowhere_ = called_from_here("pthread_rwlock_wrlock");
    begins(second, 100, false);
    begins(third, 110, false);
    released(second, 100, first, 1000);
    released(third, 110, second, 1010);
    ends(third, 110, 1012);
    ASSERT_EQ(ended_.size(), 1U);
    EXPECT_TRUE(ended_[0].for_lock);
    EXPECT_EQ(held_ns_of(0), (holders{{first, 890}, {second, 12}}));
}

// Nobody holds a condition: its whole wait was for the thread that woke the waiter. Shown able to fail: parts for all
// that woke others meanwhile.
TEST_F(told_to_log, AConditionIsWaitedForUntilItsWaiterIsWoken) {
    begins(second, 100, false);
    begins(third, 110, false);
    released(second, 100, first, 500);
    ends(second, 100, 510);
    released(third, 110, fourth, 900);
    ends(third, 110, 910);
    ASSERT_EQ(ended_.size(), 2U);
    EXPECT_FALSE(ended_[1].for_lock);
    EXPECT_EQ(held_ns_of(1), (holders{{fourth, 800}}));
}

// Two waited meanwhile. Shown able to fail: a log that forgets which ones it has told.
TEST_F(told_to_log, APreemptedHolderIsToldOnce) {
    begins(second, 100);
    begins(third, 110);
    preempted(first, 200, 700);
    preempted(first, 2000, 2100); // it held nothing that they waited for
    released(second, 100, first, 1000);
    ends(second, 100, 1001);
    released(third, 110, second, 1100);
    ends(third, 110, 1101);
    std::vector<holder_preemption> found = log_.take_preemptions();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(std::tie(found[0].thread, found[0].begun_ns, found[0].ended_ns),
              std::make_tuple(std::uint32_t{first}, std::uint64_t{200}, std::uint64_t{700}));
    EXPECT_TRUE(log_.take_preemptions().empty());
}

// Of the wait of the one that handed it on nothing was told. Shown able to fail: without held_since_ns in put_holders.
TEST_F(told_to_log, NobodyHeldALockBeforeHavingSleptForIt) {
    begins(third, 100);
    released(third, 100, second, 1000, 990);
    ends(third, 100, 1005);
    ASSERT_EQ(ended_.size(), 1U);
    EXPECT_EQ(held_ns_of(0), (holders{{second, 15}}));
}

// Shown able to fail: waits that are let go of when they are told.
TEST_F(told_to_log, WaitsThatGoOnAreToldAtEachLook) {
    begins(second, 100);
    for (std::uint64_t now_ns : {400U, 700U}) {
        ended_.clear();
        log_.tell_open(now_ns, keep_);
        ASSERT_EQ(ended_.size(), 1U);
        EXPECT_EQ(ended_[0].took_ns(), now_ns - 100);
    }
    ended_.clear();
    ends(second, 100, 900);
    ASSERT_EQ(ended_.size(), 1U);
    EXPECT_EQ(ended_[0].took_ns(), 800U);
}

// Shown able to fail: without forget_older.
TEST_F(told_to_log, AThreadWaitsOnceAtATime) {
    begins(second, 100);
    begins(second, 300);
    log_.tell_open(400, keep_);
    ASSERT_EQ(ended_.size(), 1U);
    EXPECT_EQ(ended_[0].took_ns(), 100U);
}

// Shown able to fail: waits that were woken, and would last until now.
TEST_F(told_to_log, WaitsThatGoOnEndWithTheLog) {
    begins(second, 100);
    begins(third, 110);
    released(third, 110, first, 400);
    log_.end_all(1000, keep_);
    ASSERT_EQ(ended_.size(), 2U);
    std::map<std::uint32_t, std::uint64_t> took;
    for (const lock_wait &wait : ended_)
        took[wait.waiter] = wait.took_ns();
    EXPECT_EQ(took, (std::map<std::uint32_t, std::uint64_t>{{second, 900}, {third, 290}}));
    ended_.clear();
    log_.end_all(2000, keep_);
    EXPECT_TRUE(ended_.empty());
}

} // namespace
} // namespace holdfast::cli
