// SPDX-License-Identifier: MIT OR Apache-2.0
// Every number of how waiters wait, with its unit and what it buys. "History" is docs/history/flexguard.md, where the
// command and the whole table stand under the heading in quotes. Ratios are to the same build without it, or with the
// other value, in interleaved rounds on two CPUs. A time that another one is derived from stands before it.
//
// Not here, since lower layers use them: HF_TIMED_PAUSE_NS (base/pause.h), HF_SHARED_CPU_NS (hint/hint.h),
// HF_LOOKS_APART (thread/thread_record.h). Locks that share time have numbers of their own (lock/scl).
#ifndef HF_LOCK_WAIT_TUNING_H
#define HF_LOCK_WAIT_TUNING_H

#include "base/pause.h"

// How long a waiter polls (spin_budget.h). A poll takes 14 to 40 ns.
enum {
    // Bounds a wait for a hand-over that was lost (queue.I5): 0.2 to 0.7 ms.
    HF_SPIN_BUDGET_POLLS = 1 << 14,
    // Begun anew so often while the lock is released: a queue of a hundred is through before.
    HF_SPIN_BUDGET_RENEWALS = 32,
    // Is the monitor alive? The answer costs a clock, so one poll in so many asks.
    HF_SPIN_BUDGET_FRESHNESS_POLLS = 1 << 10,
    // Of an adaptive mutex, before the first sleep: 4 to 5 us, glibc's longest.
    HF_ADAPTIVE_POLLS = 1 << 6,
    // A leaver waits so long for the successor that has taken the tail and not yet linked itself (queue.I5).
    HF_QUEUE_LINK_POLLS = 64,
    // A woken waiter that finds nobody holding the word, whom it could tell of sleepers before it yields (word.I2).
    HF_PASSING_POLLS = 64,
    // At a barrier, for a round's end: a wake-up takes as long.
    HF_BARRIER_SPIN_BUDGET_POLLS = 1 << 11,
    // For a condition variable's permit, some 20 us: as long as a CPU takes to wake up that has nothing to do.
    HF_CONDITION_SPIN_BUDGET_POLLS = 1 << 9,
    // At a spinlock: before the first sleep, whatever the hint says; and between two sleeps.
    HF_SPIN_POLLS_BLIND = 1 << 10,
    HF_SPIN_POLLS_BETWEEN = HF_SPIN_BUDGET_POLLS,
    // Rounds of a barrier or a condition variable that go by, at most, before it is polled for again after a poll in
    // vain, which is as long as some short rounds: it is to cost a hundredth of them.
    HF_SPIN_SKIPPED_MAX = 255,
};

// Batches (defer_policy.h). History, "Batches": with them shared-memory has 1.3 with 2 threads where lines move slowly.
enum {
    // A lock is hot that is released once in this. 240 and 320 are as good ("Ideas, and what became of them").
    HF_HOT_NS = 160,
    HF_HOT_WINDOW_NS = 2 * HF_HOT_NS, // found out no faster
    HF_COLD_NS = 1000,                // or if there was no release for so long
    // A free word is left to the owner of a hot lock for so long. 100 us is as fast, with 13 to 100 us in place of 1.2
    // to 3 at the 99.9th percentile of waits ("Batches").
    HF_DEFER_SLICE_NS = 200 * 1000,
    // After so long a waiter defers no more. 104 threads on as many simulated CPUs: the longest wait 8 ms in place of
    // 18, at 0.99 of the throughput ("A bound for waits").
    HF_DUE_NS = 10 * 1000 * 1000,
    // A sleeper of a lock that goes from one waiter that polls to the next is woken so often (park/heirs.h). 200 us: 3
    // threads 0.95 in place of 0.98 of glibc, or 1.09 in place of 1.18; 4 ms: as good ("Heirs").
    HF_HEIR_NS = 1000 * 1000,
    // And after so long it claims the lock: HF_FLEXGUARD_SLICE_NS of holdfast/flexguard.h. Sections of 1 ms: without
    // end in place of 30 ms.
    HF_CLAIM_NS = 2 * HF_DUE_NS,
    // A claimant that does not spin sleeps so long at first, and twice as long each time, in case that its claim was
    // not seen (claim.C3).
    HF_CLAIM_SLEEP_NS = 1000 * 1000,
    HF_CLAIM_SLEEP_NS_MAX = 64 * HF_CLAIM_SLEEP_NS,
    // Of a lock that is not hot: some ten sections. 20 us: 0.03 to 0.1 less; 60, 100: as good ("Longer sections").
    HF_DEFER_SHORT_SLICE_NS = 40 * 1000,
    // But not by a thread that had so much time for each lock that it took, some hand-overs: 1.00 in place of 0.62 to
    // 0.85 of glibc where one thread asks another all the time how far it is. 4: as good ("Threads that work").
    HF_PACE_WORK_US = 2,
    // Timed pauses between two samples: before the first one of a hot lock, time for a release. 2 pauses: 8 threads
    // 0.87 ("Ideas").
    HF_HOT_PAUSES = (int)HF_HOT_NS / (int)HF_TIMED_PAUSE_NS,
    // While it is hot, 1 to 2 us: with none two threads have 0.46 of a blocking lock, with 8 0.93, with this 0.99.
    HF_PAUSES_MAX = 31,
    // And where sections are longer.
    HF_PAUSES_MAX_LONG = 127,
    // A waiter announces a sleeper after so long: an announcement costs the owner a call of the kernel, a tenth of it
    // ("Asking").
    HF_ANNOUNCE_NS = 4 * 1000,
};

// What is known of a lock (release_rate.h, explore.h, lock_history.h).
enum {
    // Nor are releases a measure of work for so long after the end of a turn.
    HF_RATE_WINDOW_NS = 500 * 1000,
    // No lock is released 65536 times in it, once in 15 ns.
    HF_RATE_STALE_NS = 1000 * 1000,
    // A lock is slow that is released less often than once in this: a waiter that has just found it held will not see
    // it released HF_HOT_NS later.
    HF_RATE_SLOW_NS = 8 * HF_HOT_NS,
    // Of so many windows one is for the worse arm: of the first number at least, of twice as many after each that was
    // as bad as expected. Always 16: 0.95 to 1.00 of this ("Batches").
    HF_EXPLORE_PERIOD_MIN = 16,
    HF_EXPLORE_PERIOD_MAX = 256,
    // Some hundred hand-overs, so that one arm does not show in the next one's count.
    HF_HISTORY_WINDOW_NS = 100 * 1000,
    // A sample as late as this closes no window.
    HF_HISTORY_STALE_NS = HF_RATE_STALE_NS,
    // Releases a millisecond, of a lock that is not hot: so often at least when barged for, for batches to be tried;
    // and at most when deferred to.
    HF_HISTORY_RATE_MIN = 300,
    HF_HISTORY_RATE_HOT = 1000 * 1000 / HF_HOT_NS,
    // By so many eighths the second arm has to be better. 0, for threads that come: 1.32 in place of 1.60 with sections
    // of 1000 turns and 64 threads ("Longer sections").
    HF_HISTORY_SLEEP_HYSTERESIS = 1,
    HF_HISTORY_WOKEN_HYSTERESIS = 1,
    // Windows of woken threads are long, and costly where sleeping does not pay.
    HF_HISTORY_WOKEN_PERIOD_MIN = 32,
    // Before such a window, where the arm has changed (without it 1.08 in place of 1.24: "Longer sections"); its
    // length; and what is too long for either.
    HF_HISTORY_WOKEN_SETTLES_NS = 500 * 1000,
    HF_HISTORY_WOKEN_WINDOW_NS = 1500 * 1000,
    HF_HISTORY_WOKEN_STALE_NS = 8 * 1000 * 1000,
    // A lock stays so long with a waiter that has slept for it. Twice as long is as fast, and has twice the longest
    // wait with 64 threads beside busy processes ("On a CPU that others want").
    HF_HISTORY_TURN_NS = 500 * 1000,
};

// Leaving the CPU (yield_policy.h). History, "On a CPU that others want": beside busy processes 1.1 to 1.3 with 2 to 8
// threads.
enum {
    HF_YIELD_FIRST_NS = 250 * 1000,
    HF_YIELD_LONGEST_NS = 4 * 1000 * 1000, // a scheduler's slice: a wait for a shared CPU is as long anyway
    HF_YIELDS_NS = 32 * 1000 * 1000,       // in one wait
    // The designated waker's sleep: with sections of 2 us and 64 threads 1.6 ("Longer sections").
    HF_DESIGNATED_SLEEP_NS = 50 * 1000,
    // Not after a wait that was longer: the longest waits were 1.0 to 2.4 of glibc's.
    HF_DESIGNATED_WAIT_NS = 4 * 1000 * 1000,
    // A release comes in that time, or the owner is not back soon.
    HF_DESIGNATED_POLL_NS = 4 * 1000,
    // Others leave a free word to a real-time thread for so long: some times what it takes a CPU to go on with one that
    // was woken.
    HF_GIVE_WAY_NS = 1000 * 1000,
};

// A thread's turn on its CPU (turn.h). History, "Workers that are kept from the CPU": poll-under-lock 1.5 to 30.
enum {
    // A switch takes 2. Also the time between two looks of a thread that uses its CPU for locks alone, 0.2 us a lock:
    // 1024 takes a thread that writes to LevelDB for such a one (0.6 in place of 0.95 of glibc with 32 threads), 100
    // one with sections of 1000 turns (0.79 in place of 1.4: "A monitor beside pollers").
    HF_TURN_US = 50,
    // A yield that took so long, of a scheduler's slice of some 3 ms, was to a thread that does not give the CPU away:
    // 0.85 in place of 0.21 of glibc beside two busy threads, without a monitor.
    HF_TURN_LONG_YIELD_US = 2000,
    // So many times as long is the turn after one to another process: shared-memory beside two busy threads 0.86 to
    // 1.18 of glibc in place of 0.56 to 0.89, poll-under-lock 1.28 in place of 1.69 ("Yields to other processes").
    HF_TURN_BESIDE_FOREIGN = 16,
    // But no longer than that, and so much does a thread believe.
    HF_TURN_MAKES_UP_US_MAX = 1000 * 1000,
};

// Timed sleeps of waiters whom nobody wakes.
enum {
    HF_SPIN_SLEEP_NS_MIN = 20 * 1000, // at a spinlock, twice as long each time
    HF_SPIN_SLEEP_NS_MAX = 1000 * 1000,
};

// A reader-writer lock's batches (posix/read_write_batch.h).
enum {
    // A lock that was found cold is so for so many releases; a hot one has used them up in 10 to 40 us. A look at each
    // wait costs two writers with sections of a third of a microsecond a fifth.
    HF_RW_COLD_RELEASES = 256,
    HF_RW_LAST_LOOKS = 16, // of a writer, when its slice is over: some 20 us
    // A writer that spins announces a sleeper after so many polls, 2 to 5 us: 1.41 with two threads and sections of 20
    // us (docs/interposer-figures.md).
    HF_RW_ANNOUNCE_POLLS = 1 << 7,
};

#endif
