// SPDX-License-Identifier: MIT OR Apache-2.0
// What a waiter does next (lock/wait/next_step.h): each place, with each sample that tells there.
//
// Shown able to fail, each by rows of the table: a budget that is spent keeps a waiter in the queue; a waiter that
// comes samples a lock that is known to be slow; polls of the hot lock that never end, and one that goes on although
// the lock is not hot any more; a yield whoever wants the CPU, one before the lock is known, and yields without end; a
// timed sleep although batches do not pay, or the lock was not released, and none where CPU time is limited; a
// designated waker that had slept for long; an adaptive mutex's waiter that polls without end, again after its sleep,
// or where CPU time is limited; a thread that has work and defers, at either place; a reader-writer lock's waiter that
// announces; a wait without end.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "lock/wait/next_step.h"

namespace {

constexpr uint64_t now_ns = 1'000'000'000;
constexpr uint32_t threads = 100;                       // of the process
constexpr uint32_t rate_usual = 1000, rate_hot = 10000; // releases a millisecond

struct situation {
    hf_wait_state state;
    hf_lock_history history;
    hf_wait_sample sample;
};

// A lock of which all is known: it is hot and polled, batches clearly pay, and no window ends soon.
situation at(hf_wait_place place) {
    situation result = {};
    result.state = hf_wait_state_begin(hf_yields_begin(true), 0, now_ns);
    result.state.place = place;
    result.state.pauses = 1;
    result.state.defer = hf_defer_begin(0, now_ns, HF_DEFER_SLICE_NS);
    result.state.defer.found_hot = true;
    hf_history_begin(&result.history, nullptr, 0, now_ns, HF_HISTORY_DEFER);
    result.history.since_ns = now_ns;
    result.history.whole.in_a_millisecond = rate_hot;
    result.history.free_word.rate[HF_HISTORY_DEFER] = 2 * rate_usual;
    result.history.free_word.rate[HF_HISTORY_BARGE] = rate_usual;
    result.state.since_ns = now_ns;
    result.sample.now_ns = now_ns;
    return result;
}

struct row {
    std::string what;
    hf_wait_place place;
    std::function<void(situation &)> differs;
    hf_wait_step step;
    hf_wait_place next;
    int pauses = -1; // -1: any
};

void is_not_hot(situation &s) {
    s.state.defer.hot = s.state.defer.found_hot = false;
    s.state.defer.warm = true;
    s.history.free_word.rate[HF_HISTORY_BARGE] = 0;
}

void has_waited(situation &s) { // and nobody can tell that the lock is hot
    is_not_hot(s);
    s.state.defer.window_ns = now_ns;
    s.state.defer.announce_ns = now_ns;
    s.sample.releases = 1;
}

void defers(situation &s) {
    s.sample.is_free = true;
    s.sample.releases = 1;
    s.state.defer.warm = true;
}

void is_overdue(situation &s) {
    s.sample.threads = threads;
    s.sample.now_ns = now_ns + HF_CLAIM_NS;
    s.sample.releases = threads;
}

void is_for_designated_waker(situation &s) {
    s.history.woken.arm = HF_HISTORY_WOKEN_SLEEPS;
    s.state.since_ns = now_ns - 1000;
}

const std::vector<row> rows = {
    {"spinning pays", HF_AT_BEGIN, [](auto &s) { s.sample.spins = true; }, HF_WAIT_ENTER, HF_AT_QUEUE, 0},
    {"spinning does not pay", HF_AT_BEGIN, [](auto &) {}, HF_WAIT_SAMPLE, HF_AT_LOCK},
    {"waits for the head", HF_AT_QUEUE, [](auto &s) { s.sample.spins = true; }, HF_WAIT_PAUSE, HF_AT_QUEUE},
    {"is the head", HF_AT_QUEUE, [](auto &s) { s.sample.spins = s.sample.is_head = true; }, HF_WAIT_PAUSE, HF_AT_HEAD,
     0},
    {"budget spent in the queue", HF_AT_QUEUE, [](auto &) {}, HF_WAIT_LEAVE, HF_AT_LOCK},
    {"budget spent at its head", HF_AT_HEAD, [](auto &s) { s.sample.is_free = true; }, HF_WAIT_LEAVE, HF_AT_LOCK},
    {"head, held, hot", HF_AT_HEAD, [](auto &s) { s.sample.spins = true; }, HF_WAIT_PAUSE, HF_AT_HEAD, 3},
    {"head defers", HF_AT_HEAD,
     [](auto &s) {
         s.sample.spins = true;
         defers(s);
     },
     HF_WAIT_PAUSE, HF_AT_HEAD, 3},
    {"head, the slice is over", HF_AT_HEAD,
     [](auto &s) {
         s.sample.spins = true;
         defers(s);
         s.state.defer.slice_end_ns = now_ns;
     },
     HF_WAIT_TAKE, HF_AT_HEAD},
    {"head, batches do not pay", HF_AT_HEAD,
     [](auto &s) {
         s.sample.spins = true;
         defers(s);
         s.history.free_word.arm = HF_HISTORY_BARGE;
     },
     HF_WAIT_TAKE, HF_AT_HEAD},
    {"head, not hot, free", HF_AT_HEAD,
     [](auto &s) {
         s.sample.spins = s.sample.is_free = true;
         is_not_hot(s);
     },
     HF_WAIT_TAKE, HF_AT_HEAD, 0},
    {"head, not hot, held for long", HF_AT_HEAD,
     [](auto &s) {
         s.sample.spins = true;
         has_waited(s);
     },
     HF_WAIT_ANNOUNCE, HF_AT_HEAD, 0},
    {"head, not hot, held, no release", HF_AT_HEAD,
     [](auto &s) {
         s.sample.spins = true;
         has_waited(s);
         s.sample.releases = 0;
     },
     HF_WAIT_PAUSE, HF_AT_HEAD, 0},
    {"comes to a hot lock", HF_AT_LOCK, [](auto &) {}, HF_WAIT_PAUSE, HF_AT_SECOND_SAMPLE, HF_HOT_PAUSES},
    {"comes to a slow lock", HF_AT_LOCK,
     [](auto &s) { s.history.whole.in_a_millisecond = s.history.wait.rate[HF_HISTORY_POLL] = 2; }, HF_WAIT_SAMPLE,
     HF_AT_END},
    {"comes to a slow one, of an adaptive mutex", HF_AT_LOCK,
     [](auto &s) {
         s.history.whole.in_a_millisecond = s.history.wait.rate[HF_HISTORY_POLL] = 2;
         s.state.is_adaptive = true;
     },
     HF_WAIT_SAMPLE, HF_AT_ADAPTIVE},
    {"and CPU time is limited", HF_AT_LOCK,
     [](auto &s) {
         s.history.whole.in_a_millisecond = s.history.wait.rate[HF_HISTORY_POLL] = 2;
         s.state.is_adaptive = s.state.yields.limited = true;
     },
     HF_WAIT_SAMPLE, HF_AT_END},
    {"comes to an unknown lock", HF_AT_LOCK, [](auto &s) { s.history.whole.in_a_millisecond = 0; }, HF_WAIT_PAUSE,
     HF_AT_SECOND_SAMPLE},
    {"comes to an unknown lock in a storm", HF_AT_LOCK,
     [](auto &s) {
         s.history.whole.in_a_millisecond = 0;
         s.sample.in_storm = true;
     },
     HF_WAIT_SAMPLE, HF_AT_END},
    {"and the mutex is an adaptive one", HF_AT_LOCK,
     [](auto &s) {
         s.history.whole.in_a_millisecond = 0;
         s.sample.in_storm = s.state.is_adaptive = true;
     },
     HF_WAIT_SAMPLE, HF_AT_END},
    {"comes where sleeping at once is better, adaptive or not", HF_AT_LOCK,
     [](auto &s) {
         s.state.is_adaptive = true;
         s.history.whole.in_a_millisecond = rate_usual;
         s.history.wait.arm = HF_HISTORY_SLEEP;
     },
     HF_WAIT_SAMPLE, HF_AT_END},
    {"released", HF_AT_SECOND_SAMPLE, [](auto &s) { s.sample.releases = 1; }, HF_WAIT_SAMPLE, HF_AT_HOT},
    {"not released", HF_AT_SECOND_SAMPLE, [](auto &) {}, HF_WAIT_SAMPLE, HF_AT_END},
    {"not released, of an adaptive mutex", HF_AT_SECOND_SAMPLE, [](auto &s) { s.state.is_adaptive = true; },
     HF_WAIT_SAMPLE, HF_AT_ADAPTIVE},
    {"adaptive, held", HF_AT_ADAPTIVE, [](auto &) {}, HF_WAIT_PAUSE, HF_AT_ADAPTIVE, 1},
    {"adaptive, free", HF_AT_ADAPTIVE, [](auto &s) { s.sample.is_free = true; }, HF_WAIT_TAKE, HF_AT_ADAPTIVE},
    {"adaptive, the polls are used up", HF_AT_ADAPTIVE, [](auto &s) { s.state.polls = HF_ADAPTIVE_POLLS - 1; },
     HF_WAIT_PAUSE, HF_AT_END},
    {"hot, held", HF_AT_HOT, [](auto &) {}, HF_WAIT_PAUSE, HF_AT_HOT, 3},
    {"hot, as seldom as it samples", HF_AT_HOT, [](auto &s) { s.state.pauses = HF_PAUSES_MAX; }, HF_WAIT_PAUSE,
     HF_AT_HOT, HF_PAUSES_MAX},
    {"hot, the polls are used up", HF_AT_HOT, [](auto &s) { s.state.polls = HF_SPIN_BUDGET_POLLS - 1; }, HF_WAIT_PAUSE,
     HF_AT_END},
    {"hot no more", HF_AT_HOT,
     [](auto &s) {
         is_not_hot(s);
         s.sample.cpu = HF_CPU_OWN;
     },
     HF_WAIT_PAUSE, HF_AT_END},
    {"hot no more, free", HF_AT_HOT,
     [](auto &s) {
         is_not_hot(s);
         s.sample.is_free = true;
     },
     HF_WAIT_TAKE, HF_AT_END},
    {"hot, defers", HF_AT_HOT, defers, HF_WAIT_PAUSE, HF_AT_HOT},
    {"a reader-writer lock's waiter announces nothing", HF_AT_HOT,
     [](auto &s) {
         has_waited(s);
         s.state.defers_to_hot_alone = true;
     },
     HF_WAIT_PAUSE, HF_AT_END},
    {"its own process wants the CPU", HF_AT_HOT, [](auto &s) { s.sample.cpu = HF_CPU_OWN; }, HF_WAIT_YIELD,
     HF_AT_YIELD_END},
    {"and nobody knows yet whether it is hot", HF_AT_HOT,
     [](auto &s) {
         s.state.defer.found_hot = false;
         s.sample.cpu = HF_CPU_OWN;
     },
     HF_WAIT_PAUSE, HF_AT_HOT},
    {"and it defers", HF_AT_HOT,
     [](auto &s) {
         defers(s);
         s.sample.cpu = HF_CPU_OWN;
     },
     HF_WAIT_YIELD, HF_AT_YIELD_END},
    {"and the word is its own to take", HF_AT_HOT,
     [](auto &s) {
         defers(s);
         s.state.defer.slice_end_ns = now_ns;
         s.sample.cpu = HF_CPU_OWN;
     },
     HF_WAIT_TAKE, HF_AT_HOT},
    {"and it may not yield", HF_AT_HOT,
     [](auto &s) {
         s.state.yields = hf_yields_begin(false);
         s.sample.cpu = HF_CPU_OWN;
     },
     HF_WAIT_PAUSE, HF_AT_HOT},
    {"another process wants the CPU", HF_AT_HOT, [](auto &s) { s.sample.cpu = HF_CPU_FOREIGN; }, HF_WAIT_TIMED_SLEEP,
     HF_AT_SLEEP_END},
    {"and batches do not clearly pay", HF_AT_HOT,
     [](auto &s) {
         s.sample.cpu = HF_CPU_FOREIGN;
         s.history.free_word.rate[HF_HISTORY_DEFER] = rate_usual;
     },
     HF_WAIT_PAUSE, HF_AT_HOT, 3},
    {"CPU time is limited", HF_AT_HOT, [](auto &s) { s.state.yields.limited = true; }, HF_WAIT_TIMED_SLEEP,
     HF_AT_SLEEP_END},
    {"and batches do not clearly pay, and its own process wants the CPU", HF_AT_HOT,
     [](auto &s) {
         s.state.yields.limited = true;
         s.sample.cpu = HF_CPU_OWN;
         s.history.free_word.rate[HF_HISTORY_DEFER] = rate_usual;
     },
     HF_WAIT_YIELD, HF_AT_YIELD_END},
    {"yielded", HF_AT_YIELD_END, [](auto &s) { s.sample.now_ns += HF_COLD_NS; }, HF_WAIT_PAUSE, HF_AT_HOT,
     HF_HOT_PAUSES},
    {"yielded, where threads poll under locks, and it is hot no more", HF_AT_YIELD_END,
     [](auto &s) {
         s.sample.now_ns += HF_COLD_NS;
         s.sample.turns_end = true;
     },
     HF_WAIT_PAUSE, HF_AT_END},
    {"yielded there, and it is hot", HF_AT_YIELD_END,
     [](auto &s) {
         s.sample.now_ns += HF_COLD_NS;
         s.sample.releases = HF_COLD_NS / HF_HOT_NS + 1;
         s.sample.turns_end = true;
         s.state.defer.warm = true;
     },
     HF_WAIT_PAUSE, HF_AT_HOT},
    {"slept, released meanwhile", HF_AT_SLEEP_END,
     [](auto &s) {
         s.sample.releases = 1;
         s.history.turn_ns = now_ns;
     },
     HF_WAIT_TIMED_SLEEP, HF_AT_SLEEP_END},
    {"slept, not released", HF_AT_SLEEP_END, [](auto &s) { s.history.turn_ns = now_ns; }, HF_WAIT_PAUSE, HF_AT_HOT,
     HF_HOT_PAUSES},
    {"slept, and a turn is over", HF_AT_SLEEP_END, [](auto &s) { s.sample.releases = 1; }, HF_WAIT_PAUSE, HF_AT_HOT},
    {"slept enough", HF_AT_SLEEP_END,
     [](auto &s) {
         s.sample.releases = 1;
         s.history.turn_ns = now_ns;
         s.state.since_ns = now_ns - HF_YIELDS_NS;
     },
     HF_WAIT_PAUSE, HF_AT_HOT},
    {"overdue at the head", HF_AT_HEAD,
     [](auto &s) {
         is_overdue(s);
         s.sample.spins = true;
     },
     HF_WAIT_CLAIM, HF_AT_HEAD},
    {"overdue, and the budget is spent", HF_AT_HEAD, [](auto &s) { s.sample.threads = threads; }, HF_WAIT_LEAVE,
     HF_AT_LOCK},
    {"overdue at the hot lock", HF_AT_HOT, is_overdue, HF_WAIT_CLAIM, HF_AT_HOT},
    {"woken, and overdue", HF_AT_WOKEN, is_overdue, HF_WAIT_CLAIM, HF_AT_WOKEN},
    {"woken, and a fair lock would not have come to it either", HF_AT_WOKEN,
     [](auto &s) {
         is_overdue(s);
         s.sample.releases = threads - 1;
     },
     HF_WAIT_SAMPLE, HF_AT_BEGIN},
    {"woken, and not overdue", HF_AT_WOKEN,
     [](auto &s) {
         is_overdue(s);
         s.sample.now_ns--;
     },
     HF_WAIT_SAMPLE, HF_AT_BEGIN},
    {"woken, and the lock knows no claims", HF_AT_WOKEN,
     [](auto &s) {
         is_overdue(s);
         s.sample.threads = 0;
     },
     HF_WAIT_SAMPLE, HF_AT_BEGIN},
    {"nothing more to try", HF_AT_END, [](auto &) {}, HF_WAIT_BLOCK, HF_AT_WOKEN},
    {"woken", HF_AT_WOKEN, [](auto &s) { s.state.since_ns = now_ns; }, HF_WAIT_SAMPLE, HF_AT_BEGIN},
    {"the designated waker", HF_AT_WOKEN, is_for_designated_waker, HF_WAIT_TIMED_SLEEP, HF_AT_DESIGNATED_SLEEP_END},
    {"which has slept for long", HF_AT_WOKEN,
     [](auto &s) {
         is_for_designated_waker(s);
         s.state.since_ns = now_ns - HF_DESIGNATED_WAIT_NS;
     },
     HF_WAIT_SAMPLE, HF_AT_BEGIN},
    {"or meets threads that poll under locks", HF_AT_WOKEN,
     [](auto &s) {
         is_for_designated_waker(s);
         s.sample.turns_end = true;
     },
     HF_WAIT_SAMPLE, HF_AT_BEGIN},
    {"or may not yield", HF_AT_WOKEN,
     [](auto &s) {
         is_for_designated_waker(s);
         s.state.yields = hf_yields_begin(false);
     },
     HF_WAIT_SAMPLE, HF_AT_BEGIN},
    {"has slept again", HF_AT_DESIGNATED_SLEEP_END, [](auto &) {}, HF_WAIT_SAMPLE, HF_AT_DESIGNATED},
    {"finds it free", HF_AT_DESIGNATED, [](auto &s) { s.sample.spins = s.sample.is_free = true; }, HF_WAIT_TAKE,
     HF_AT_DESIGNATED, 0},
    {"finds it held", HF_AT_DESIGNATED, [](auto &s) { s.sample.spins = true; }, HF_WAIT_PAUSE, HF_AT_DESIGNATED, 0},
    {"has polled enough", HF_AT_DESIGNATED, [](auto &) {}, HF_WAIT_SAMPLE, HF_AT_BEGIN},
};

TEST(next_step, IsAsTheTableHasIt) {
    for (const row &row : rows) {
        situation s = at(row.place);
        row.differs(s);
        EXPECT_EQ(hf_wait_next(&s.state, &s.history, nullptr, &s.sample), row.step) << row.what;
        EXPECT_EQ(s.state.place, row.next) << row.what;
        if (row.pauses >= 0) {
            EXPECT_EQ(s.state.pauses, row.pauses) << row.what;
        }
    }
}

TEST(next_step, PollsAsAnAdaptiveMutexBeforeItsFirstSleepAlone) {
    situation s = at(HF_AT_END);
    s.state.is_adaptive = true;
    EXPECT_EQ(hf_wait_next(&s.state, &s.history, nullptr, &s.sample), HF_WAIT_BLOCK);
    s.state.place = HF_AT_SECOND_SAMPLE;
    hf_wait_next(&s.state, &s.history, nullptr, &s.sample);
    EXPECT_EQ(s.state.place, HF_AT_END);
}

TEST(next_step, DefersTheLessTheLongerItHasWaited) {
    situation s = at(HF_AT_LOCK);
    for (uint64_t waited_ns : {0, HF_DUE_NS / 2, HF_DUE_NS - 1, 2 * HF_DUE_NS - 1}) {
        s.state.place = HF_AT_LOCK;
        s.state.began_ns = now_ns - waited_ns;
        hf_wait_next(&s.state, &s.history, nullptr, &s.sample);
        uint64_t left_ns = waited_ns < HF_DUE_NS ? HF_DUE_NS - waited_ns : 0;
        EXPECT_EQ(s.state.defer.slice_end_ns - now_ns, left_ns * HF_DEFER_SLICE_NS / HF_DUE_NS);
    }
    s.state.place = HF_AT_HOT;
    defers(s);
    EXPECT_EQ(hf_wait_next(&s.state, &s.history, nullptr, &s.sample), HF_WAIT_TAKE) << "it is due";
    s.sample.is_free = false;
    s.sample.now_ns += HF_ANNOUNCE_NS;
    EXPECT_EQ(hf_wait_next(&s.state, &s.history, nullptr, &s.sample), HF_WAIT_ANNOUNCE) << "however hot it is";
}

TEST(next_step, AThreadThatHasWorkDefersToNobody) {
    for (hf_wait_place place : {HF_AT_QUEUE, HF_AT_LOCK}) {
        for (bool has_work : {false, true}) {
            situation s = at(place);
            s.state.has_work = has_work;
            s.sample.spins = s.sample.is_head = true;
            hf_wait_next(&s.state, &s.history, nullptr, &s.sample); // begins to defer, or not
            s.state.place = place == HF_AT_QUEUE ? HF_AT_HEAD : HF_AT_HOT;
            defers(s);
            EXPECT_EQ(hf_wait_takes_at_once(&s.state, s.sample.releases), has_work) << place;
            EXPECT_EQ(hf_wait_next(&s.state, &s.history, nullptr, &s.sample), has_work ? HF_WAIT_TAKE : HF_WAIT_PAUSE)
                << place;
        }
    }
}

TEST(next_step, TakesTheWordAfterAYield) {
    situation s = at(HF_AT_YIELD_END);
    hf_wait_next(&s.state, &s.history, nullptr, &s.sample);
    s.sample.is_free = true;
    s.sample.releases = 1;
    EXPECT_EQ(hf_wait_next(&s.state, &s.history, nullptr, &s.sample), HF_WAIT_TAKE);
}

TEST(next_step, YieldsEndInAWait) {
    situation s = at(HF_AT_HOT);
    s.sample.cpu = HF_CPU_OWN;
    constexpr uint64_t yield_ns = 100'000;
    uint64_t yields = 0;
    while (hf_wait_next(&s.state, &s.history, nullptr, &s.sample) == HF_WAIT_YIELD) {
        ASSERT_LT(yields++, 2 * uint64_t{HF_YIELDS_NS} / yield_ns);
        s.sample.now_ns += yield_ns;
        hf_wait_next(&s.state, &s.history, nullptr, &s.sample); // at its end
        s.state.polls = 0;
        s.state.place = HF_AT_HOT;
    }
    EXPECT_EQ(yields, uint64_t{HF_YIELDS_NS} / yield_ns);
}

TEST(next_step, TimedSleepsEndInAWait) {
    situation s = at(HF_AT_HOT);
    s.sample.cpu = HF_CPU_FOREIGN;
    uint64_t slept_ns = 0;
    for (int i = 0; hf_wait_next(&s.state, &s.history, nullptr, &s.sample) == HF_WAIT_TIMED_SLEEP; i++) {
        ASSERT_LT(i, 1000);
        slept_ns += s.state.sleep_ns;
        s.sample.now_ns = s.history.turn_ns = s.state.since_ns + s.state.sleep_ns;
        s.sample.releases++;
    }
    EXPECT_GE(slept_ns, uint64_t{HF_YIELDS_NS});
    EXPECT_LT(slept_ns, uint64_t{HF_YIELDS_NS} + HF_YIELD_LONGEST_NS);
}

TEST(next_step, DesignatedWakerPollsFromItsFirstLookOn) {
    situation s = at(HF_AT_DESIGNATED_SLEEP_END);
    hf_wait_next(&s.state, &s.history, nullptr, &s.sample);
    EXPECT_TRUE(hf_wait_polls_as_designated(&s.state, now_ns));
    EXPECT_TRUE(hf_wait_polls_as_designated(&s.state, now_ns + HF_DESIGNATED_POLL_NS - 1));
    EXPECT_FALSE(hf_wait_polls_as_designated(&s.state, now_ns + HF_DESIGNATED_POLL_NS));
}

TEST(next_step, DesignatedWakersSleepCounts) {
    situation s = at(HF_AT_DESIGNATED_SLEEP_END);
    s.state.since_ns = now_ns - HF_YIELDS_NS;
    hf_wait_next(&s.state, &s.history, nullptr, &s.sample);
    EXPECT_FALSE(hf_yields_are_left(&s.state.yields));
}

} // namespace
