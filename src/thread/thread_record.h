// SPDX-License-Identifier: MIT OR Apache-2.0
// The thread record: what a thread publishes about itself, one for each thread, whatever the number of locks.
//
// A record is immortal: its memory is never unmapped and is reused only for another thread's record. So a store by
// somebody who remembers the record from a queue that its thread has left long ago is harmless (queue.I3,
// waiter_queue.h). It is given back by a destructor when its thread exits. A thread that locks after its last
// destructor (glibc frees memory then, and some allocators lock) gets a record that it leaves behind: before slabs
// become too many, those of threads that are gone are taken back (thread_record.c).
//
// Intent before effect. A thread raises critical_depth before the atomic operation that may give it a lock and lowers
// it after the one that gives the lock back. The monitor runs on the same CPU as the thread that it interrupts, so
// program order is all that this needs, and it never sees a holder whose depth is 0.
#ifndef HF_THREAD_THREAD_RECORD_H
#define HF_THREAD_THREAD_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/cpu_limit.h"
#include "hint/hint_page.h"
#include "thread/reads_held.h"
#include "thread/thread_number.h"

// In microseconds modulo 2^32. Its own thread alone looks at it.
struct hf_turn {
    uint32_t began_us;
    uint32_t looked_us; // at the time, last
};

struct hf_thread_record {
    struct hf_critical_words critical; // first, and in one line: the monitor reads them at once
    struct hf_thread_record *next;     // successor in the queue that this thread is in; written by the successor
    uint32_t tid;                      // 0 in the record that threads share when memory has run out
    uint16_t in_slices;                // how often it is under a guard or in a queue of slices (lock/scl/slices.h)
    uint8_t asleep;                    // 1 while it sleeps for a lock: advice to others
    uint8_t works;                     // 1: it has not taken locks alone since it looked up last (lock/wait/turn.h)
    struct hf_queue_node *spare_nodes; // nodes of queue locks that need one a lock (lock/basic/queue_node.h)
    uint64_t share_class;              // whose share of a lock's time it uses (lock/scl/share.h); see below
    uint64_t observed;                 // bit i: the release of observations[i]'s lock is to be noted; HF_TURN_LOOK
    struct hf_turn turn;               // on its CPU (lock/wait/turn.h)
} HF_CACHE_ALIGNED;

// A thread's own class is a number that no other thread of the process ever has, times two; a class that the user has
// made, its number (32 bits) times two and one; a kind of threads has HF_CLASS_IS_KIND besides. 0 when the thread has
// exited, and for threads without a record of their own.
#define HF_CLASS_IS_MADE 1ull
#define HF_CLASS_IS_KIND (1ull << 63) // lock/scl/thread_class.h

// What a thread counts. Written by its owner only, read by anyone. Part of the layout of statistics that other
// processes read (observe/statistics_memory.h).
struct hf_thread_counters {
    uint64_t acquisitions;
    uint64_t contended;     // acquisitions that found the lock held
    uint64_t spun;          // contended acquisitions that got the lock while spinning
    uint64_t blocked;       // times that the thread went to sleep for a lock
    uint64_t mode_switches; // times that a waiter left the queue because spinning did not pay any more
    uint64_t next_look;     // the number of the acquisition at which it looks up (hf_count_acquisition)
    uint64_t pending_lock;  // address of a lock that this thread sleeps for, or has slept for
    uint32_t pending;       // and how often it has got it so, not yet in the lock's entry
    uint32_t waits_since;   // it sleeps for it: since when, in 2^hf_waits_since_shift() ticks, at least 1; else 0
} HF_CACHE_ALIGNED;

// A third of a millisecond at 3 GHz.
static inline unsigned hf_waits_since_shift(void) {
    return 20 - hf_tick_coarseness();
}

// What a thread remembers of an acquisition that it observes (observe/observation.h).
struct hf_observation {
    uint64_t lock;        // its address
    uint64_t since_ticks; // it holds the lock
    uint64_t wait_ticks;
    uint64_t asleep_ticks; // of these
    uint32_t sleeps;
    uint32_t stands_for; // acquisitions
    uint32_t way;        // enum hf_acquired
    uint32_t kind;       // enum hf_statistics_kind
} HF_CACHE_ALIGNED;

// Which of many events a thread looks at: one after `gap` others, for which it stands.
struct hf_sampler {
    uint64_t looked_ticks; // at the last one
    uint32_t next; // of acquisitions: the number of the next one, modulo 2^32; of spins: how many there are to it
    uint16_t gap;
    uint16_t mean_gap; // at present
};

// When the thread's last wait for a lock ended, in microseconds modulo 2^32, and how many acquisitions it had counted
// by then (lock/wait/pace.h).
struct hf_pace {
    uint32_t since_us;
    uint32_t acquisitions;
};

// What nobody else looks at, and its owner only now and then.
struct hf_thread_private {
    union {
        struct hf_thread_record *free_next; // the free list, while no thread has this record
        struct hf_pace pace;
    };
    struct hf_slices *slice_begun; // the last one, of those in lock/scl/begun_slices.h, or NULL
    uint32_t *holds_owner;         // says whose row of statistics it is (observe/thread_holds.h), or NULL
    struct hf_sampler acquisitions;
    struct hf_sampler spins; // waits without sleep
    const void *turn_lock;   // HF_TURN_LOOK is set: at whose release
} HF_CACHE_ALIGNED;

// What a thread has noted of hf_thread_counters.pending_lock and not yet added to its entry: sums of waits that slept,
// and of holds.
struct hf_noted_sums {
    uint64_t since_ticks; // the first of them began
    uint64_t wait_ticks;
    uint64_t asleep_ticks;
    uint64_t hold_ticks;
    uint64_t longest_wait_ticks;
    uint64_t longest_hold_ticks;
    uint32_t sleeps;
    uint16_t waits;
    uint16_t holds;
    uint32_t kind; // enum hf_statistics_kind
} HF_CACHE_ALIGNED;

// The same, each by itself: the number of its bucket.
enum { HF_NOTED_TIMES = 32 };
struct hf_noted_times {
    uint8_t wait_bucket[HF_NOTED_TIMES];
    uint8_t hold_bucket[HF_NOTED_TIMES];
} HF_CACHE_ALIGNED;

enum { HF_OBSERVED_MAX = 4 };

// In hf_thread_record.observed: at a lock's release the thread looks whether its turn is over (lock/wait/turn.h).
#define HF_TURN_LOOK (1ull << HF_OBSERVED_MAX)

// Records come in slabs: the records, then as many of each of a thread's other parts at fixed distances, all of one
// size, so that finding one from the other needs no pointer and the counters alone can be shared with the process that
// reports them. Last, where the slab before begins.
enum { HF_SLAB_RECORDS = 1024 };
#define HF_SLAB_COUNTERS_OFFSET (HF_SLAB_RECORDS * sizeof(struct hf_thread_record))
#define HF_SLAB_COUNTERS_BYTES (HF_SLAB_RECORDS * sizeof(struct hf_thread_counters))
#define HF_SLAB_PRIVATE_OFFSET (HF_SLAB_COUNTERS_OFFSET + HF_SLAB_COUNTERS_BYTES)
#define HF_SLAB_SUMS_OFFSET (HF_SLAB_PRIVATE_OFFSET + HF_SLAB_RECORDS * sizeof(struct hf_thread_private))
#define HF_SLAB_TIMES_OFFSET (HF_SLAB_SUMS_OFFSET + HF_SLAB_RECORDS * sizeof(struct hf_noted_sums))
#define HF_SLAB_OBSERVATIONS_OFFSET (HF_SLAB_TIMES_OFFSET + HF_SLAB_RECORDS * sizeof(struct hf_noted_times))
#define HF_SLAB_OBSERVATIONS_BYTES (HF_SLAB_RECORDS * sizeof(struct hf_observation))
#define HF_SLAB_READS_OFFSET (HF_SLAB_OBSERVATIONS_OFFSET + HF_OBSERVED_MAX * HF_SLAB_OBSERVATIONS_BYTES)
#define HF_SLAB_PREVIOUS_OFFSET (HF_SLAB_READS_OFFSET + HF_SLAB_RECORDS * sizeof(struct hf_reads_held))
#define HF_SLAB_BYTES (HF_SLAB_PREVIOUS_OFFSET + sizeof(struct hf_thread_record *))

// Slabs whose counters can be shared: 32,768 threads alive at once.
enum { HF_SHARED_SLABS = 32 };

// What has become of that, for a thread that reads the counters. Written under the pool's lock.
struct hf_counters_shared {
    uint32_t slabs;   // whose counters are in the shared memory, in their order
    uint32_t refused; // pages and slabs for whose counters there was no memory: they are their process's own
};

// Of the acquisitions of a thread one in so many is noted when they are many (observe/observation.h): so few that what
// it takes to note one, half a microsecond for the lines that go to another CPU, is lost in the others' time.
enum { HF_NOTED_PERIOD = 4093 };

// And at one in so many it looks whether its turn is over (lock/wait/turn.h). The first look comes at once: where
// acquisitions are few each one is noted.
enum { HF_LOOKS_APART = 256, HF_FIRST_LOOK = 1 };

#ifdef __cplusplus
extern "C" {
#endif

extern __thread struct hf_thread_record *hf_self_record
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Gives the calling thread a record. Out of memory it is one that threads share, which is never queued.
struct hf_thread_record *hf_thread_record_acquire(void) __attribute__((cold));

// Of this process, in bits that no record's address has (lock/wait/waiter_queue.h): its number, or 0 where that is not
// known. A forked child's is another one, unless it was forked behind pthread_atfork's back.
extern uintptr_t hf_process_tag __attribute__((visibility("hidden")));

static inline struct hf_thread_record *hf_self(void) {
    struct hf_thread_record *self = hf_self_record;
    return HF_LIKELY(self != NULL) ? self : hf_thread_record_acquire();
}

static inline struct hf_thread_counters *hf_counters(struct hf_thread_record *self) {
    return (struct hf_thread_counters *)((char *)self + HF_SLAB_COUNTERS_OFFSET);
}

static inline struct hf_thread_private *hf_private(struct hf_thread_record *self) {
    return (struct hf_thread_private *)((char *)self + HF_SLAB_PRIVATE_OFFSET);
}

// NULL for threads without a record of their own.
static inline struct hf_reads_held *hf_reads_of(struct hf_thread_record *self) {
    return HF_LIKELY(self->tid != 0) ? (struct hf_reads_held *)((char *)self + HF_SLAB_READS_OFFSET) : NULL;
}

// Of a thread with a record of its own, as those below.
static inline struct hf_observation *hf_observation_at(struct hf_thread_record *self, unsigned i) {
    return (struct hf_observation *)((char *)self + HF_SLAB_OBSERVATIONS_OFFSET + i * HF_SLAB_OBSERVATIONS_BYTES);
}

static inline struct hf_noted_sums *hf_noted_sums_of(struct hf_thread_record *self) {
    return (struct hf_noted_sums *)((char *)self + HF_SLAB_SUMS_OFFSET);
}

static inline struct hf_noted_times *hf_noted_times_of(struct hf_thread_record *self) {
    return (struct hf_noted_times *)((char *)self + HF_SLAB_TIMES_OFFSET);
}

// Adds one to a counter of the calling thread: a plain load and store, since nobody else writes it.
#define hf_count(self, counter) hf_store_relaxed(&hf_counters(self)->counter, hf_counters(self)->counter + 1)

// Counts an acquisition, and says whether the thread is to look up: it is one to be noted, or its turn may be over
// (lock/wait/turn.h).
static inline bool hf_count_acquisition(struct hf_thread_record *self) {
    struct hf_thread_counters *counters = hf_counters(self);
    uint64_t number = counters->acquisitions + 1;
    hf_store_relaxed(&counters->acquisitions, number);
    return number == counters->next_look;
}

// How many acquisitions there are before one is to be noted; 0 or less: the present one is.
static inline int32_t hf_until_noted(struct hf_thread_record *self) {
    return (int32_t)(hf_private(self)->acquisitions.next - (uint32_t)hf_counters(self)->acquisitions);
}

// After so many more, or at the next one to be noted.
static inline void hf_look_up_after(struct hf_thread_record *self, int32_t acquisitions) {
    int32_t until_noted = hf_until_noted(self);
    int32_t until_look = 0 < until_noted && until_noted < acquisitions ? until_noted : acquisitions;
    hf_store_relaxed(&hf_counters(self)->next_look, hf_counters(self)->acquisitions + (uint32_t)until_look);
}

// Of a thread that holds a lock now, as it does at the next acquisitions of the same order, and not at others.
static inline void hf_look_up_soon(struct hf_thread_record *self) {
    enum { HF_LOOK_SOON = 7 };
    hf_look_up_after(self, HF_LOOK_SOON);
}

static inline uint32_t hf_tid(const struct hf_thread_record *self) {
    return HF_LIKELY(self->tid != 0) ? self->tid : hf_tid_asked();
}

// Puts the calling thread into a class of the user's; 0: into one of its own.
void hf_thread_set_class(struct hf_thread_record *self, uint32_t number);

// What else is to be done when a thread that has begun a slice goes to sleep for a lock, or `exits`, while it still has
// its record. One function for the process.
void hf_thread_watch_slices(void (*function)(struct hf_thread_record *self, bool exits));

// The caller goes to sleep for a lock, and has slept: others may want to know (lock/scl/slices.h).
void hf_thread_leave_slices(struct hf_thread_record *self, bool exits) __attribute__((cold));

// The caller does more than take locks: it tells others of what it has done, or leaves its CPU to them.
static inline void hf_thread_works(struct hf_thread_record *self) {
    hf_store_relaxed(&self->works, 1);
}

static inline void hf_thread_falls_asleep(struct hf_thread_record *self) {
    hf_store_relaxed(&self->asleep, 1);
    if (HF_UNLIKELY(hf_private(self)->slice_begun != NULL))
        hf_thread_leave_slices(self, false);
}

static inline void hf_thread_awakes(struct hf_thread_record *self) {
    hf_store_relaxed(&self->asleep, 0);
    hf_thread_works(self);
    hf_store_relaxed(&hf_counters(self)->waits_since, 0);
}

// From now on records that exited threads have left behind are not looked for: nobody asks the kernel for them.
void hf_thread_records_stay_left(void);

// How many have one now, those included that have left theirs behind.
extern uint32_t hf_threads_with_records __attribute__((visibility("hidden")));

// Can they use up a limit of CPU time (base/cpu_limit.h)? Then whoever polls takes from those that work, on another CPU
// too, as with more threads than CPUs on the same one.
static inline bool hf_cpu_time_is_limited(void) {
    return UINT64_C(1000) * hf_load_relaxed(&hf_threads_with_records) > hf_load_relaxed(&hf_cpu_limit_millis);
}

// Has no second thread had a record yet, here or in the processes that this one was forked from?
bool hf_thread_was_always_alone(void);

// Records are given back by the destructor of a pthread key. Gives that up, for a program that wants each key there is:
// true when one is free now. From then on records of threads that exit are found when others are needed.
bool hf_thread_give_up_exit_key(void) __attribute__((cold));

// Where hf_self_record lies relative to the thread pointer: the one number that a process registers with the monitor.
int64_t hf_thread_record_tls_offset(void);

// Puts the counters of the slabs to come into the memory behind the descriptor (not closed here), which others can map:
// HF_SHARED_SLABS times HF_SLAB_COUNTERS_BYTES of struct hf_thread_counters from `offset` on, zero where unused. It is
// mapped as slabs come, and what has become of it said in `*told`, which lies there, too. From then on acquisitions are
// noted. False with errno when there is no memory for the first slab's. Requires that no other thread of the process
// runs.
bool hf_thread_counters_share(int fd, size_t offset, struct hf_counters_shared *told);

// From now on nothing more is mapped for that: counters of slabs to come are private.
void hf_thread_counters_stay_mapped(void);

static inline void hf_critical_enter(struct hf_thread_record *self) {
    hf_store_relaxed(&self->critical.critical_depth, self->critical.critical_depth + 1);
    hf_program_order();
}

// The same, of an application's lock: the monitor notes with it who is kept waiting (hint/holder_preemptions.h).
static inline void hf_critical_enter_for(struct hf_thread_record *self, const void *lock) {
    hf_store_relaxed(&self->critical.lock, (uint64_t)(uintptr_t)lock);
    hf_critical_enter(self);
}

// Saturates: a thread that gives back a lock which another one took must not look critical for ever after.
static inline void hf_critical_leave(struct hf_thread_record *self) {
    hf_program_order();
    uint32_t depth = self->critical.critical_depth;
    hf_store_relaxed(&self->critical.critical_depth, depth - (depth != 0));
}

#ifdef __cplusplus
}
#endif

#endif
