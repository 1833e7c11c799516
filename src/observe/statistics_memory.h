// SPDX-License-Identifier: MIT OR Apache-2.0
// The memory that a process notes in what its locks do: made by the server of its monitor, written by the process, read
// by its owner and by root (monitor/client/statistics_reader.hpp) while it runs and for as long as they keep it mapped.
//
//     offset
//     0                              header          who, what could not be noted, what rules matched
//     hf_statistics_level_at(0)      a level         for 64 locks and as many threads
//     hf_statistics_level_at(1)      the next        for 256
//     hf_statistics_level_at(2)      the last        for 1,024
//     HF_STATISTICS_THREADS_OFFSET   thread counters HF_SHARED_SLABS slabs of them (thread/thread_record.h)
//
// A level has, one behind the other,
//
//     lock addresses  an open-addressed table; 0 is a free place
//     lock entries    entry i is of the lock whose address is in place i
//     thread holds    a row for each thread that is noted to have held locks
//
//            CAS by the first thread that notes something of the lock
//     FREE (0) ------------------------------------------------------> the lock's, until the process ends
//
// The process maps the first level, and each further one when something finds no place in those before it: what it maps
// counts towards its limits, and is in memory as a whole under mlockall. Nothing is written where the kernel has not
// been asked for the memory before (notes.N6).
//
// notes.N1  A place never changes hands. So who has found a lock's place may remember it, and an entry sums up all
//     locks that have ever lain at its address.
// notes.N2  Counts only grow. They are added relaxed, each by itself: a reader that looks between two of them sees one
//     without the other.
// notes.N3  A lock is in one of the HF_STATISTICS_PROBES places of a level from its first one there on, if by then
//     those of all levels before were others'; or in none: then it is counted in `not_noted`.
// notes.N6  An address stands in a place only when there is memory behind the whole entry, and a tid in a row likewise.
//     Were it found missing by a store, that would end the process (SIGBUS: vm.overcommit_memory=2).
// notes.N4 and N5, of threads' rows, are in thread_holds.h.
//
// Readers copy what they want by system calls: where nothing was written they get zeros, and no memory is used up for
// them, as it would be by looking through a mapping.
//
// Which holders were preempted the monitor knows, and tells by itself (HF_REQUEST_ABSENCES, hint/registration.h).
// What is counted and what is estimated: docs/statistics.md. Times are in ticks of the machine's counter
// (base/clock.h), which mean the same in all processes; hf_tick_ns() tells how long one is.
#ifndef HF_OBSERVE_STATISTICS_MEMORY_H
#define HF_OBSERVE_STATISTICS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/address_hash.h"
#include "base/shared_memory.h"
#include "thread/thread_record.h"

// Of all that is in this file, thread counters included.
#define HF_STATISTICS_VERSION 9

enum {
    HF_STATISTICS_LEVELS = 3,
    HF_STATISTICS_PROBES = 64,
    HF_STATISTICS_HEADER_BYTES = 4096,
    HF_STATISTICS_HOLDS = 7, // locks of a thread
    HF_STATISTICS_RULES = 15,
    HF_STATISTICS_RULE_BYTES = 136,
};

enum hf_statistics_kind {
    HF_STATISTICS_UNKNOWN = 0,
    HF_STATISTICS_MUTEX = 1,
    HF_STATISTICS_READ_WRITE_LOCK = 2, // readers and writers together; no holding times
    HF_STATISTICS_SPINLOCK = 3,        // no holding times; only what was contended
};

// Log-linear: below 4 a bucket for each tick; above, 4 buckets of equal width between each power of two and the next.
// The last bucket has all that is longer.
enum {
    HF_HISTOGRAM_BITS = 2,
    HF_HISTOGRAM_LONGEST_BITS = 41, // 2^41 ticks: 12 minutes at 3 GHz
    HF_HISTOGRAM_BUCKETS = HF_HISTOGRAM_LONGEST_BITS << HF_HISTOGRAM_BITS,
};

static inline uint32_t hf_histogram_bucket(uint64_t ticks) {
    if (ticks < (1u << HF_HISTOGRAM_BITS))
        return (uint32_t)ticks;
    uint32_t octave = 63u - (uint32_t)__builtin_clzll(ticks) - HF_HISTOGRAM_BITS;
    uint32_t bucket = (octave << HF_HISTOGRAM_BITS) + (uint32_t)(ticks >> octave);
    return bucket < HF_HISTOGRAM_BUCKETS ? bucket : HF_HISTOGRAM_BUCKETS - 1;
}

// The shortest time that falls into the bucket.
static inline uint64_t hf_histogram_from_ticks(uint32_t bucket) {
    if (bucket < (1u << HF_HISTOGRAM_BITS))
        return bucket;
    uint32_t octave = (bucket >> HF_HISTOGRAM_BITS) - 1;
    return ((uint64_t)(1u << HF_HISTOGRAM_BITS) + (bucket & ((1u << HF_HISTOGRAM_BITS) - 1))) << octave;
}

// The variance that one observation adds to a sum in which it stands for `gap`: as if each had been chosen with
// probability 1 / gap. In square units of 2^hf_spread_shift() ticks, 1.4 us at 3 GHz.
static inline unsigned hf_spread_shift(void) {
    return 12 - hf_tick_coarseness();
}

static inline uint64_t hf_estimate_spread(uint64_t ticks, uint32_t gap) {
    const uint64_t most = 1ull << 27; // 3 minutes at 3 GHz: its square leaves room for a thousand
    uint64_t whole = ticks >> 40 ? most : ticks * gap >> hf_spread_shift();
    if (whole > most)
        whole = most;
    return gap > 1 ? whole * whole - whole * whole / gap : 0;
}

// What is known of one lock. "Estimated": each that was noted counts for all that it stands for.
struct hf_lock_statistics {
    // What is noted most often is in one line.
    uint32_t kind;               // enum hf_statistics_kind
    uint32_t longest_holder;     // tid of who held it for longest_hold_ticks
    uint64_t uncontended;        // acquisitions that found the lock free; estimated
    uint64_t hold_ticks;         // estimated
    uint64_t longest_hold_ticks; // of those that were timed
    uint64_t creation_site;      // address behind the call that initialised it; 0: not known
    uint64_t hold_spread;        // how far off hold_ticks may be: hf_estimate_spread of each that was timed, summed up
    uint64_t spin_spread;        // the same of those in wait_ticks that are estimated
    uint64_t reserved;
    uint64_t spun;         // acquisitions that found it held, and got it without sleeping; estimated
    uint64_t slept;        // that slept; exact with what threads have pending (hf_thread_counters). Contended are both
    uint64_t gave_up;      // waits that ended by their deadline, without the lock; exact
    uint64_t sleeps;       // times that a waiter went to sleep; exact
    uint64_t wait_ticks;   // of contended acquisitions, and of those that gave up; exact for those that slept
    uint64_t asleep_ticks; // of these, asleep
    uint64_t longest_wait_ticks; // of those that were timed
    uint64_t wait_histogram[HF_HISTOGRAM_BUCKETS];
    uint64_t hold_histogram[HF_HISTOGRAM_BUCKETS];
} HF_CACHE_ALIGNED;

// How long a thread has held a lock.
struct hf_lock_hold {
    uint64_t lock; // its address; 0: none
    uint64_t ticks;
};

#define HF_ROW_FREE 0u
#define HF_ROW_BEING_CLEARED UINT32_MAX

struct hf_thread_holds {
    uint32_t tid;     // first: its address stands for the row; or one of the above
    uint32_t counted; // bit i: the ticks of holds[i] are all there were, and no estimate
    struct hf_lock_hold holds[HF_STATISTICS_HOLDS];
} HF_CACHE_ALIGNED;

// Steps of threads that are counted (observe/counted_steps.h), by what they are for.
enum hf_counted_step {
    HF_COUNTED_ANNOUNCED,        // a waiter that polls and never finds the word free announces a sleeper
    HF_COUNTED_YIELDED,          // a waiter of a hot lock leaves its CPU to threads of its own process
    HF_COUNTED_SLEPT,            // and to another process's, by a timed sleep
    HF_COUNTED_DESIGNATED,       // a woken waiter leaves the lock to its owner, by a timed sleep
    HF_COUNTED_TURN_ENDED,       // a thread that uses its CPU for locks alone yields it
    HF_COUNTED_CLAIMED,          // a waiter that has waited for too long claims the lock (park/claims.h)
    HF_COUNTED_SLICE_GIVEN_BACK, // the kernel has extended a time slice, and the thread gives it back (slice_request.h)
    HF_COUNTED_STEPS,
};

// A rule for single locks, and how many it matched (observe/rule_matches.h).
struct hf_rule_statistics {
    uint64_t matched;
    char name[HF_STATISTICS_RULE_BYTES]; // "mutex@db_lock", a 0 at its end; empty: there is no such rule
};

// Did the process find a monitor?
enum hf_monitor_met {
    HF_MONITOR_NOT_SAID = 0,
    HF_MONITOR_MET_AT_START = 1,
    HF_MONITOR_NOT_MET = 2,
    HF_MONITOR_MET_LATER = 3,
};

// In a page of its own, whose memory is there from the start.
struct hf_statistics_header {
    uint32_t version;
    uint32_t process;   // as the server sees it
    uint64_t not_noted; // observations for which there was no place (notes.N3)
    uint32_t levels;    // that are mapped, hence may have something in them; 0: the process has not begun to note
    uint32_t refused;   // 1: the kernel refused to map a level, or memory for something in one
    struct hf_counters_shared counters;
    uint32_t monitor; // enum hf_monitor_met
    uint32_t reserved;
    struct hf_rule_statistics rules[HF_STATISTICS_RULES];
    uint64_t bound_apart; // 1: it has a library that calls glibc's functions past ours (preload/deepbind.c)
    uint64_t steps[HF_COUNTED_STEPS];
};

// Of locks, and of rows for threads.
static inline uint32_t hf_statistics_places(uint32_t level) {
    return 64u << 2 * level;
}

static inline size_t hf_statistics_entries_at(uint32_t level) {
    return hf_statistics_places(level) * sizeof(uint64_t);
}

static inline size_t hf_statistics_holds_at(uint32_t level) {
    return hf_statistics_entries_at(level) + hf_statistics_places(level) * sizeof(struct hf_lock_statistics);
}

// With HF_STATISTICS_LEVELS: where the last one ends. Each ends with a granule.
static inline size_t hf_statistics_level_at(uint32_t level) {
    size_t offset = HF_STATISTICS_HEADER_BYTES;
    for (uint32_t before = 0; before < level; before++) {
        offset += hf_statistics_holds_at(before) + hf_statistics_places(before) * sizeof(struct hf_thread_holds);
        offset = (offset + HF_GRANULE_BYTES - 1) / HF_GRANULE_BYTES * HF_GRANULE_BYTES;
    }
    return offset;
}

#define HF_STATISTICS_THREADS_OFFSET hf_statistics_level_at(HF_STATISTICS_LEVELS)
#define HF_STATISTICS_BYTES (HF_STATISTICS_THREADS_OFFSET + HF_SHARED_SLABS * HF_SLAB_COUNTERS_BYTES)

// The place of a level at which the search for a lock begins.
static inline uint32_t hf_statistics_first_place(uint64_t address, uint32_t level) {
    return (uint32_t)(hf_address_hash(address, 32) % hf_statistics_places(level));
}

static inline uint64_t *hf_statistics_names(char *level) {
    return (uint64_t *)(void *)level;
}

static inline struct hf_lock_statistics *hf_statistics_entries(char *level, uint32_t number) {
    return (struct hf_lock_statistics *)(void *)(level + hf_statistics_entries_at(number));
}

static inline struct hf_thread_holds *hf_statistics_rows(char *level, uint32_t number) {
    return (struct hf_thread_holds *)(void *)(level + hf_statistics_holds_at(number));
}

#endif
