// SPDX-License-Identifier: MIT OR Apache-2.0
// Slices, step by step, with a given clock and no threads: who is chosen, who keeps the time, who is banned.
//
// Shown able to fail: keep_time that does nothing; hf_slices_leave without its choice (AKeeperThatLeavesIsReplaced);
// is_late that does not look at the word, or never finds anybody late (ALateChosenWaiterIsPassedOver); a look that
// only the timekeeper may take (AKeeperThatDoesNotLook...); choose that does not ask whether the owner is dead
// (ASliceIsOverWhenItsOwnerExits); owner_is_elsewhere that says no, does not look at the word, or not at the thread
// (ASliceIsOverWhenItsOwnerWaitsAtAnotherLock), or not whether it sleeps (...SleepsForALockOfAnotherKind);
// hf_slices_retire that does nothing; next_of that takes the first (TheLeastUsedIsNext), or bans nobody
// (AClassThatHasUsedMoreIsBannedUntilItHasPaid); hf_slices_begin without its loop (AClassIsChosenWhole); sum_up that
// forgets nobody (InactiveSharesAreForgotten); inactive_ticks that is always a second (ASharesInactivity...);
// void_times_of_another_clock that does nothing, or leaves the slice's end or the timekeeper as it is
// (ASliceOfAnotherClock...), or due_at (WhoIsChosenByAnotherClock...); hf_share_is_active that takes who is seen
// later than now for active (ABanByAnotherClockEnds); void_times_of_another_clock that leaves others' slice_began as
// it is (...ThoughTheOtherStaysActive); is_of_another_clock that does not look at due_at (...WithoutASliceBefore); a
// slice of no length that ends now (ASliceOfNoLength...); hf_share_is_gone that says so of made classes, or
// hf_share_add that counts those that are dead (WhatAMadeClassHasUsed...); a class that is never gone
// (AThreadsOwnClassIsForgotten...).
#include <gtest/gtest.h>
#include <vector>

#include "base/clock.h"
#include "holdfast/uscl.h"
#include "lock/scl/slices.h"
#include "lock/scl/slices_memory.h"
#include "park/word_lock.h"
#include "posix/threads_and_processes.hpp"

namespace holdfast::test {
namespace {

// Times are ticks from an origin; a slice is long against what is counted, and short against HF_LATE_NS, also where a
// tick is 40 ns long.
constexpr std::uint64_t origin = 1'000'000'000'000, slice = 10'000;
// When it is first looked whether a slice is used.
constexpr std::uint64_t early = slice / 8;

struct one {
    hf_share *share;
    hf_slice_waiter waiter{};
    bool chosen() const { return waiter.wake_word & HF_WAKE_CHOSEN; }
};

class slices : public testing::Test {
protected:
    hf_slices all{};
    std::uint64_t next_class = 2;

    one make(std::uint32_t weight = 1024) {
        hf_share *share = hf_share_take();
        *share = hf_share{};
        share->own_class = next_class++ << 1 | HF_CLASS_IS_MADE;
        share->next = all.shares;
        share->last_seen = origin;
        hf_share_set_weight(share, weight);
        all.shares = share;
        return {share};
    }
    // The thread is of that class, and alone in it.
    static void give_to(hf_thread_record &thread, one &who) {
        who.share->thread = &thread;
        thread.share_class = who.share->own_class;
    }
    hf_slice_wake join(one &who, std::uint64_t now) {
        who.waiter = {};
        who.waiter.share = who.share;
        return hf_slices_join(&all, &who.waiter, origin + now);
    }
    hf_slice_wake begin(one &who, std::uint64_t now, std::uint64_t length = slice) {
        return hf_slices_begin(&all, who.share, origin + now, length);
    }
    // Comes when nobody has the slice, and begins.
    void take(one &who, std::uint64_t now) {
        join(who, now);
        ASSERT_TRUE(who.chosen());
        begin(who, now);
    }
    void use(one &who, std::uint64_t ticks, std::uint64_t until) {
        hf_share_charge(who.share, ticks);
        who.share->last_seen = origin + until;
    }
    // A slice, all of it. The other is active too, but does not want the lock now.
    void use_up_beside(one &who, one &other) {
        take(who, 0);
        use(who, slice, slice);
        use(other, 0, slice);
    }
    hf_slice_wake choose(std::uint64_t now) { return hf_slices_choose(&all, origin + now); }
};

TEST_F(slices, TakeTheMemoryThatIsDocumented) {
    EXPECT_EQ(sizeof(hf_slices), 192u); // docs/uscl.md
    EXPECT_EQ(sizeof(hf_share), 128u);
}

TEST_F(slices, TheFirstComerIsChosenAtOnce) {
    one a = make();
    EXPECT_EQ(join(a, 0), &a.waiter.wake_word);
    EXPECT_TRUE(a.chosen());
    EXPECT_EQ(all.owner, a.share);
    EXPECT_EQ(all.slice_end, 0u) << "pending until it has the word";
    begin(a, 5);
    EXPECT_EQ(all.slice_end, origin + 5 + slice);
    EXPECT_EQ(all.waiters, 0u);
}

TEST_F(slices, AThreadThatComesIntoASliceWaitsForItsEndAndKeepsTheTime) {
    one a = make(), b = make();
    take(a, 0);
    join(b, 100);
    EXPECT_FALSE(b.chosen());
    EXPECT_EQ(all.timekeeper, &b.waiter);
    EXPECT_EQ(all.timekeeper_at, origin + early);
    hf_slices_look(&all, &b.waiter, origin + early);
    EXPECT_EQ(all.timekeeper_at, origin + slice);
    hf_slices_look(&all, &b.waiter, origin + slice - 1);
    EXPECT_FALSE(b.chosen());
    EXPECT_EQ(all.timekeeper, &b.waiter);
    hf_slices_look(&all, &b.waiter, origin + slice);
    EXPECT_TRUE(b.chosen()) << "whether a is inside or not";
}

TEST_F(slices, NobodyIsChosenWhileOneIsOnItsWay) {
    one a = make(), b = make();
    join(a, 0);
    EXPECT_EQ(join(b, 2 * slice), nullptr);
    EXPECT_FALSE(b.chosen());
    EXPECT_EQ(all.timekeeper, &b.waiter) << "to see whether a is late";
    EXPECT_EQ(all.timekeeper_at, all.due_at);
    EXPECT_EQ(begin(a, 2 * slice + 1), &b.waiter.wake_word);
    EXPECT_EQ(all.timekeeper, &b.waiter) << "woken, to keep the time from now on";
}

TEST_F(slices, OneThatGivesUpIsFollowed) {
    one a = make(), b = make();
    join(a, 0);
    join(b, 1);
    EXPECT_EQ(hf_slices_give_up(&all, a.share, origin + 2), &b.waiter.wake_word);
    EXPECT_TRUE(b.chosen());
}

TEST_F(slices, AKeeperThatLeavesIsReplaced) {
    one a = make(), b = make(), c = make();
    take(a, 0);
    join(b, 1);
    join(c, 2);
    ASSERT_EQ(all.timekeeper, &b.waiter);
    EXPECT_EQ(hf_slices_leave(&all, &b.waiter, origin + 3), &c.waiter.wake_word);
    EXPECT_EQ(all.timekeeper, &c.waiter);
    EXPECT_EQ(all.waiters, 1u);
}

TEST_F(slices, AKeeperThatIsChosenIsReplacedWhenTheSliceBegins) {
    one a = make(), b = make(), c = make();
    take(a, 0);
    join(b, 1);
    join(c, 2);
    use(a, slice, slice);
    EXPECT_EQ(choose(slice), &b.waiter.wake_word);
    EXPECT_EQ(all.timekeeper, nullptr);
    EXPECT_EQ(begin(b, slice + 1), &c.waiter.wake_word);
    EXPECT_EQ(all.timekeeper_at, origin + slice + 1 + early);
}

// A lock with a word: free as far as these are told. Shown able to fail: with slices that are never spared; that are
// also where the word is held; whose owners stay
// the least far, or count as competitors.
class unused_slices : public slices {
protected:
    std::uint32_t word = 0;
    void SetUp() override { all.lock = &word; }
};

TEST_F(unused_slices, EndEarly) {
    one a = make(), b = make();
    take(a, 0);
    use(a, early / HF_SPARED_PARTS - 10, 100);
    join(b, 200);
    EXPECT_FALSE(b.chosen());
    EXPECT_EQ(all.timekeeper_at, origin + early);
    hf_slices_look(&all, &b.waiter, origin + early);
    EXPECT_TRUE(b.chosen());
}

TEST_F(unused_slices, EndForLaterComers) {
    one a = make(), b = make();
    take(a, 0);
    join(b, slice / 2);
    EXPECT_TRUE(b.chosen());
}

TEST_F(unused_slices, AreNotThoseWhoseOwnerIsInside) {
    one a = make(), b = make();
    take(a, 0);
    word = 1;
    join(b, slice / 2);
    EXPECT_FALSE(b.chosen());
    choose(slice);
    EXPECT_TRUE(b.chosen());
    EXPECT_EQ(hf_load_relaxed(&a.share->used), 0u);
}

TEST_F(unused_slices, AreNotThoseThatAreUsedNowAndThen) {
    one a = make(), b = make();
    take(a, 0);
    use(a, early / HF_SPARED_PARTS + 10, 100);
    join(b, 200);
    hf_slices_look(&all, &b.waiter, origin + early);
    EXPECT_FALSE(b.chosen());
    EXPECT_EQ(all.timekeeper_at, origin + slice);
}

// One that uses slices whole, beside two that lock for a moment now and then.
TEST_F(unused_slices, KeepNobodyAway) {
    one a = make(), b = make(), c = make();
    std::uint64_t now = 0;
    take(b, now);
    use(b, 1, now + 1);
    join(a, now + 2);
    now += early;
    choose(now);
    ASSERT_TRUE(a.chosen());
    begin(a, now);
    join(c, now + 1);
    use(a, slice, now += slice);
    choose(now);
    ASSERT_TRUE(c.chosen());
    begin(c, now);
    use(c, 1, now + 1);
    join(a, now + 2);
    join(b, now + 3);
    now += early;
    choose(now);
    ASSERT_TRUE(b.chosen());
    begin(b, now);
    use(b, 1, now + 1);
    join(c, now + 2);
    now += early;
    choose(now);
    EXPECT_TRUE(a.chosen()) << "c has had a slice since";
    begin(a, now);
    hf_slices_leave(&all, &c.waiter, origin + now);
    begin(a, now);
    use(a, slice, now += slice);
    join(a, now);
    EXPECT_TRUE(a.chosen()) << "and do not have it banned";
}

TEST_F(slices, TheLeastUsedIsNext) {
    one a = make(), b = make(), c = make();
    take(a, 0);
    use(b, 50, 0);
    use(c, 40, 0);
    join(b, 1);
    join(c, 2);
    use(a, slice, slice);
    choose(slice);
    EXPECT_TRUE(c.chosen());
    EXPECT_FALSE(b.chosen());
}

TEST_F(slices, OfEqualsTheFirstIsNext) {
    one a = make(), b = make(), c = make();
    take(a, 0);
    join(b, 1);
    join(c, 2);
    use(a, slice, slice);
    choose(slice);
    EXPECT_TRUE(b.chosen());
}

TEST_F(slices, AClassThatHasUsedMoreIsBannedUntilItHasPaid) {
    one a = make(), b = make();
    use_up_beside(a, b);
    join(a, slice);
    EXPECT_FALSE(a.chosen());
    EXPECT_EQ(all.owner, nullptr);
    EXPECT_EQ(all.timekeeper, &a.waiter);
    EXPECT_EQ(all.timekeeper_at, origin + 2 * slice);
    hf_slices_look(&all, &a.waiter, origin + 2 * slice);
    EXPECT_TRUE(a.chosen());
}

TEST_F(slices, ANewcomerDuringABanIsNotHeldUp) {
    one a = make(), b = make();
    use_up_beside(a, b);
    join(a, slice);
    join(b, slice + 1);
    EXPECT_TRUE(b.chosen());
    EXPECT_FALSE(a.chosen());
    EXPECT_EQ(begin(b, slice + 2), &a.waiter.wake_word) << "a looks whether b uses its slice";
    EXPECT_EQ(all.timekeeper, &a.waiter);
}

TEST_F(slices, NoHolderOfAnotherLockIsBannedNorAnyoneWhereWorkIsConserved) {
    for (bool work_conserving : {false, true}) {
        one a = make(), b = make();
        all.work_conserving = work_conserving;
        use_up_beside(a, b);
        a.waiter = {};
        a.waiter.share = a.share;
        a.waiter.never_banned = !work_conserving;
        hf_slices_join(&all, &a.waiter, origin + slice);
        EXPECT_TRUE(a.chosen());
        all = {};
    }
}

TEST_F(slices, AClassIsChosenWhole) {
    one a = make(), b = make();
    take(a, 0);
    one b_too = {b.share}, c = make();
    join(b, 1);
    join(c, 2);
    join(b_too, 3);
    use(a, slice, slice);
    choose(slice);
    ASSERT_TRUE(b.chosen());
    EXPECT_FALSE(b_too.chosen()) << "not before the slice has begun";
    begin(b, slice + 1);
    EXPECT_TRUE(b_too.chosen());
    EXPECT_FALSE(c.chosen());
    EXPECT_EQ(b.share->waiting, 0u);
    EXPECT_EQ(all.waiters, 1u);
}

TEST_F(slices, InactiveSharesAreForgotten) {
    one a = make(), b = make();
    auto second = static_cast<std::uint64_t>(1e9 / hf_tick_ns());
    take(a, 0);
    use(a, slice, 2 * second);
    join(a, 2 * second); // nothing to wait for: b was last seen more than a second ago
    EXPECT_TRUE(a.chosen());
    EXPECT_EQ(all.shares, a.share);
    EXPECT_EQ(all.shares->next, nullptr);
    (void)b;
}

// inactive_ms, from the shortest to the longest time that can be set; b was last seen at the origin.
TEST_F(slices, ASharesInactivityIsAsLongAsTheLockSays) {
    for (std::uint64_t ms : {1, 7, 1000, int(HF_USCL_INACTIVE_MS_MAX)}) {
        all = {};
        all.inactive_ms = static_cast<std::uint16_t>(ms);
        auto inactive = static_cast<std::uint64_t>(1e6 / hf_tick_ns()) * ms;
        one a = make(), b = make();
        take(a, 0);
        use(a, 2 * inactive, inactive - inactive / 8); // more than b may claim in that time
        join(a, inactive - inactive / 8);
        EXPECT_FALSE(a.chosen()) << "b is still active";
        EXPECT_NEAR(static_cast<double>(all.timekeeper_at - origin), static_cast<double>(inactive),
                    static_cast<double>(inactive) / 100)
            << "the ban ends with b's activity";
        hf_slices_look(&all, &a.waiter, origin + inactive + inactive / 8);
        EXPECT_TRUE(a.chosen());
        EXPECT_EQ(all.shares, a.share) << "b is forgotten";
        EXPECT_EQ(a.share->next, nullptr);
        (void)b;
    }
}

// uscl.U1: nobody keeps its time, so its first section's unlock must see that it is over, also by a clock that is
// behind.
TEST_F(slices, ASliceOfNoLengthIsOverByEveryClock) {
    one a = make(), b = make();
    join(a, 100);
    ASSERT_TRUE(a.chosen());
    join(b, 101);
    begin(a, 102, 0);
    EXPECT_LE(all.slice_end, origin) << "what unlock asks";
    EXPECT_EQ(choose(99), &b.waiter.wake_word);
    EXPECT_TRUE(b.chosen());
}

TEST_F(slices, ALateChosenWaiterIsPassedOver) {
    one a = make(), b = make(), c = make();
    std::uint32_t word = HF_WORD_HELD;
    all.lock = &word;
    join(a, 0); // and can't run
    join(b, 1);
    join(c, 2);
    std::uint64_t due = all.due_at;
    hf_slices_look(&all, &b.waiter, due - 1);
    EXPECT_FALSE(b.chosen());
    hf_slices_look(&all, &b.waiter, due);
    EXPECT_FALSE(b.chosen()) << "somebody is inside: not late, but made to wait";
    word = HF_WORD_FREE;
    std::uint64_t again = all.timekeeper_at;
    EXPECT_GT(again, due);
    hf_slices_look(&all, &b.waiter, again);
    EXPECT_TRUE(b.chosen());
    EXPECT_EQ(begin(a, 1), nullptr);
    EXPECT_EQ(all.slice_end, 0u) << "the slice is not a's any more";
    EXPECT_EQ(begin(b, 2), &c.waiter.wake_word);
    EXPECT_EQ(all.owner, b.share);
}

TEST_F(slices, AKeeperThatDoesNotLookIsRelieved) {
    one a = make(), b = make(), c = make();
    take(a, 0);
    join(b, 1);
    join(c, 2);
    ASSERT_EQ(all.timekeeper, &b.waiter); // and can't run
    auto relief = static_cast<std::uint64_t>(double(HF_RELIEF_NS) / hf_tick_ns());
    hf_slices_look(&all, &c.waiter, origin + slice + relief / 2);
    EXPECT_EQ(all.timekeeper, &b.waiter);
    hf_slices_look(&all, &c.waiter, origin + slice + relief * 2);
    EXPECT_TRUE(b.chosen() || c.chosen());
}

TEST_F(slices, ASliceIsOverWhenItsOwnerExits) {
    hf_thread_record thread{};
    one a = make(), b = make();
    give_to(thread, a);
    take(a, 0);
    join(b, 1);
    EXPECT_FALSE(b.chosen());
    thread.share_class = 0;
    choose(2);
    EXPECT_TRUE(b.chosen());
}

TEST_F(slices, WhatAMadeClassHasUsedIsKeptWhenItsThreadExits) {
    hf_thread_record thread{};
    one a = make(), b = make();
    give_to(thread, a);
    take(a, 0);
    use(a, slice, slice);
    join(b, slice);
    begin(b, slice);
    use(b, 2 * slice, 3 * slice);
    thread.share_class = 0; // exits; the next one of the class may be about to come
    join(b, 3 * slice);
    EXPECT_TRUE(b.chosen()) << "who is not there is not waited for";
    ASSERT_EQ(all.shares, b.share);
    EXPECT_EQ(all.shares->next, a.share);
    EXPECT_EQ(a.share->used, slice);
}

TEST_F(slices, AThreadsOwnClassIsForgottenWhenItExits) {
    hf_thread_record thread{};
    one a = make(), b = make();
    a.share->own_class = 2 * next_class;
    a.share->thread = &thread;
    take(b, 0);
    use(a, slice, slice);
    choose(slice);
    join(b, slice);
    EXPECT_EQ(all.shares, b.share);
    EXPECT_EQ(all.shares->next, nullptr);
}

// It waits there; but not while it, or somebody else, is inside here.
TEST_F(slices, ASliceIsOverWhenItsOwnerWaitsAtAnotherLock) {
    hf_thread_record thread{};
    std::uint32_t word = HF_WORD_HELD;
    one a = make(), b = make();
    give_to(thread, a);
    all.lock = &word;
    take(a, 0);
    join(b, 1);
    thread.in_slices = 1;
    choose(2);
    EXPECT_FALSE(b.chosen()) << "somebody is inside";
    word = HF_WORD_FREE;
    thread.in_slices = 0;
    choose(3);
    EXPECT_FALSE(b.chosen()) << "the owner may come back at once";
    thread.in_slices = 1;
    EXPECT_EQ(choose(4), &b.waiter.wake_word);
    EXPECT_TRUE(b.chosen());
}

TEST_F(slices, ASliceIsOverWhenItsOwnerSleepsForALockOfAnotherKind) {
    hf_thread_record thread{};
    std::uint32_t word = HF_WORD_FREE;
    one a = make(), b = make();
    give_to(thread, a);
    all.lock = &word;
    take(a, 0);
    join(b, 1);
    thread.asleep = 1;
    EXPECT_EQ(choose(2), &b.waiter.wake_word);
    EXPECT_TRUE(b.chosen());
}

TEST_F(slices, ASliceIsOverWhenItsOwnerRetiresAndNobodyIsBannedForItsSake) {
    one a = make(), b = make();
    take(a, 0);
    join(b, 1);
    EXPECT_EQ(hf_slices_retire(&all, a.share, origin + 2), &b.waiter.wake_word);
    ASSERT_TRUE(b.chosen());
    begin(b, 3);
    use(b, slice, slice + 3);
    join(b, slice + 4);
    EXPECT_TRUE(b.chosen()) << "a has used less, is active, and does not want the lock";
}

// uscl.U8: the clock has gone back by most of what it had counted.
constexpr std::uint64_t back = origin - origin / 10;

TEST_F(slices, ASliceOfAnotherClockIsOverForItsTimekeeper) {
    one a = make(), b = make();
    take(a, 0);
    join(b, 1);
    ASSERT_EQ(all.timekeeper, &b.waiter);
    hf_slices_look(&all, &b.waiter, origin + 2 - back);
    EXPECT_TRUE(b.chosen());
}

TEST_F(slices, ASliceOfAnotherClockIsOverForANewcomer) {
    one a = make(), b = make(), c = make();
    take(a, 0);
    join(b, 1); // asleep, and keeps the time
    join(c, 2 - back);
    EXPECT_TRUE(b.chosen());
    EXPECT_FALSE(c.chosen());
    EXPECT_EQ(begin(b, 3 - back), &c.waiter.wake_word) << "somebody is woken to keep the time from now on";
    EXPECT_EQ(all.timekeeper_at, origin + 3 - back + early);
    hf_slices_look(&all, &c.waiter, origin + 4 - back);
    EXPECT_FALSE(c.chosen()) << "the slice is of this clock";
}

TEST_F(slices, AWaiterChosenByAnotherClockIsLate) {
    one a = make(), b = make(), c = make();
    std::uint32_t word = HF_WORD_HELD;
    all.lock = &word;
    take(a, 0);
    join(b, 1);
    join(c, 2);
    choose(slice);
    ASSERT_TRUE(b.chosen()); // and can't run
    hf_slices_look(&all, &c.waiter, origin + slice - back);
    EXPECT_FALSE(c.chosen()) << "somebody is inside";
    EXPECT_LE(all.timekeeper_at, origin + slice - back + std::uint64_t(2.0 * HF_LATE_NS / hf_tick_ns()));
    word = HF_WORD_FREE;
    hf_slices_look(&all, &c.waiter, all.timekeeper_at);
    EXPECT_TRUE(c.chosen());
}

TEST_F(slices, ABanByAnotherClockEnds) {
    one a = make(), b = make();
    use_up_beside(a, b);
    join(a, slice);
    ASSERT_FALSE(a.chosen());
    hf_slices_look(&all, &a.waiter, origin + slice - back);
    EXPECT_TRUE(a.chosen()) << "b was seen at a time that is not known any more";
}

// The one that b's activity would prolong for ever: its other end, a's debt, has to be a time of this clock too.
TEST_F(slices, ABanByAnotherClockEndsThoughTheOtherStaysActive) {
    one a = make(), b = make();
    use_up_beside(a, b);
    join(a, slice);
    ASSERT_FALSE(a.chosen());
    use(b, 1, slice - back);
    hf_slices_look(&all, &a.waiter, origin + slice - back);
    EXPECT_FALSE(a.chosen()) << "b has used less, and is active";
    EXPECT_EQ(all.timekeeper_at, origin + slice - back + 2 * slice) << "as if its slice had begun now";
    use(b, 1, 3 * slice - back);
    hf_slices_look(&all, &a.waiter, origin + 3 * slice - back);
    EXPECT_TRUE(a.chosen());
}

// Nobody had a slice before, or it is long ago: what tells that the clock went back is the choice itself.
TEST_F(slices, AWaiterChosenByAnotherClockIsLateWithoutASliceBefore) {
    std::uint64_t since = 10 * std::uint64_t(HF_LATE_NS / hf_tick_ns());
    for (bool had_one : {false, true}) {
        all = {};
        one a = make(), b = make(), c = make();
        if (had_one) {
            take(a, 0);
            join(a, slice);
            ASSERT_TRUE(a.chosen());
            hf_slices_give_up(&all, a.share, origin + slice);
        }
        join(b, 2 * since);
        ASSERT_TRUE(b.chosen()); // and can't run
        join(c, 2 * since + 1);
        hf_slices_look(&all, &c.waiter, origin + since);
        EXPECT_TRUE(c.chosen()) << had_one;
    }
}

// Of _Fork(), which runs no handlers: the first threads to come find all slices in disorder, at once. The guard of what
// was made first is freed last. Shown able to fail: a mark that is known from the start of the repair on.
TEST(slices_memory, InAChildWithoutHandlersNobodyUsesSlicesBeforeTheyAreInOrder) {
    constexpr std::size_t locks = 40'000;
    std::vector<std::uint32_t> words(locks);
    std::vector<hf_slices *> places(locks);
    for (std::size_t i = 0; i < locks; i++)
        ASSERT_NE(hf_slices_of(&words[i], &places[i], hf_self()), nullptr);
    hf_store_relaxed(&places[0]->guard, std::uint32_t(HF_WORD_HELD));
    for (int round = 0; round < 5; round++) {
        child_process child(
            [&] {
                return both_see([&] {
                    hf_fork_guard_repair_if_forked(&hf_slices_fork_guard);
                    return hf_load_relaxed(&places[0]->guard) == HF_WORD_FREE;
                });
            },
            _Fork);
        EXPECT_TRUE(child.succeeds());
    }
    hf_store_relaxed(&places[0]->guard, std::uint32_t(HF_WORD_FREE));
    for (std::size_t i = 0; i < locks; i++)
        hf_slices_give_back(places[i], &words[i], hf_self());
}

// Every lock of a million finds its own, in about the same time. Shown able to fail: rows that never become more do
// not get to the end of it.
TEST(slices_memory, FindsTheSlicesOfAMillionLocks) {
    constexpr std::size_t locks = 1'000'000;
    std::vector<std::uint32_t> words(locks);
    std::vector<hf_slices *> places(locks);
    for (std::size_t i = 0; i < locks; i++)
        ASSERT_NE(hf_slices_of(&words[i], &places[i], hf_self()), nullptr);
    for (std::size_t i = 0; i < locks; i++) {
        hf_slices *found = nullptr;
        ASSERT_EQ(hf_slices_of(&words[i], &found, hf_self()), places[i]);
        ASSERT_EQ(found->lock, &words[i]);
    }
    for (std::size_t i = 0; i < locks; i++)
        hf_slices_give_back(places[i], &words[i], hf_self());
    hf_slices *again = nullptr;
    ASSERT_NE(hf_slices_of(&words[0], &again, hf_self()), nullptr);
    hf_slices_give_back(again, &words[0], hf_self());
}

// Three classes of different weights that always want the lock, in as many slices as fit.
TEST_F(slices, SharesFollowWeights) {
    one all_of_them[] = {make(1024), make(2048), make(3072)};
    std::uint64_t now = 0, held[3] = {};
    for (auto &who : all_of_them)
        join(who, now);
    for (int turn = 0; turn < 6000; turn++) {
        now += 10;
        for (int i = 0; i < 3; i++) {
            one &who = all_of_them[i];
            if (!who.chosen())
                continue;
            begin(who, now);
            now += slice;
            use(who, slice, now);
            held[i] += slice;
            // It gives the lock back and comes again at once, as its next section begins.
            choose(now);
            join(who, now + 1);
            break;
        }
        if (all.timekeeper && origin + now >= all.timekeeper_at)
            hf_slices_look(&all, all.timekeeper, origin + now);
    }
    double sum = static_cast<double>(held[0] + held[1] + held[2]);
    for (int i = 0; i < 3; i++)
        EXPECT_NEAR(static_cast<double>(held[i]) / sum, (i + 1) / 6.0, 0.005);
}

} // namespace
} // namespace holdfast::test
