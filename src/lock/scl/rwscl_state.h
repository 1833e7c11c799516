// SPDX-License-Identifier: MIT OR Apache-2.0
// RW-SCL (Patel et al., EuroSys '20, section 4.5): whose slice it is, who may end it, and how readers are counted.
//
// Three kinds of words, each with its own job:
//
// The word (park/word_lock.h) is a mutex. Its owner may write, or change whose slice it is; nobody else may. A writer
// that finds the slice to be the readers' keeps the word while it waits for its end: it is the front writer.
//
// A gate (one for each NUMA node): bits 2..31 READERS, counted; bit 1 TIMED; bit 0 CLOSED.
//     Readers enter by a compare-and-swap on their node's gate that is not CLOSED: so a closed gate counts nobody in.
//     They leave at the gate of the node on which they are then. A single count may be below 0; their sum is right.
//
// The state: whose slice it is.
//
//             front writer:                 slice over, or idle:            the last reader
//             comes                         closes the gates                has left
//     READERS --------> READERS+FRONT [+OVER] ----------> WRITERS+FRONT ----------------> WRITERS
//        ^                 |                                |  (the drain)                 |
//        |<----------------+--------------------------------+  front writer gives up       |
//        |                                                                                 |
//        +---------------------------------------------------------------------------------+
//             opens the gates: a writer, at the end of the slice; a reader that finds the word free
//
//     OVER            set by a reader that has seen that time is over: the front writer is woken, readers do not enter
//     READERS_WAIT    readers wait, or have waited in this round, or had to leave and may not have run since
//     TIMEKEEPER      one of them looks at the time, and the others need not
//     bits 5..31      ROUND, one more each time that the gates open
//
// draining: bits 1..31, how many readers are inside, while the gates are closed; bit 0, the front writer sleeps.
//     While it closes the gates the front writer adds up what they counted, and adds that; a reader that leaves by a
//     closed gate subtracts itself here. So this count passes 0 once, when the last one has left. A reader that reads
//     already adds itself while it is above 0. When a drain is given up, a thread that is just then on its way to add
//     or subtract itself leaves a rest here.
//
// Invariants:
// rwscl.RS1 Exclusion. A writer is inside only with the word, in WRITERS without FRONT. There the gates are closed and
//     the readers that they had counted have left. All readers inside are in the gates' sum plus `draining`.
// rwscl.RS2 The front writer is woken. While it waits for readers' slice it sleeps until the slice's end at most. While
//     it drains, it is awake, or `draining` is above 0 and says that it sleeps: then the last reader wakes it.
// rwscl.RS3 Readers are woken. While a reader sleeps, the state has READERS_WAIT, and WRITERS or OVER; or the thread
//     that has opened the gates, or given up waiting for the readers, is on its way to wake them all.
// rwscl.RS4 Somebody keeps the time of the writers' slice. While a reader sleeps in WRITERS or OVER, the state has
//     TIMEKEEPER and its timekeeper sleeps no longer than until its next look; or somebody is on its way to open the
//     gates or to wake a reader, which becomes the timekeeper. Hence writers that stay away do not hold up the readers.
// rwscl.RS5 FRONT and OVER do not outlast the front writer: a thread that clears FRONT clears OVER by the same
//     operation, and OVER is set by a compare-and-swap from a state with FRONT.
// rwscl.RS6 A reader does not wait for its own waiters. A thread that says that it reads already is let in at once
//     (hf_rwscl_read_again). A reader may also wait for another thread that waits to read: so a drain that lasts too
//     long is given up, the readers have another slice, and the next drain may last twice as long.
// word.I4  Release is the last touch (park/word_lock.h) for a thread that is followed by a writer: a reader's
//     subtraction, at the gate or, if that is closed, from `draining`; a writer's release of the word.
// Exclusion and wake-ups do not rest on clocks. Modelled in verify/lock/rwscl.pml.
#ifndef HF_LOCK_SCL_RWSCL_STATE_H
#define HF_LOCK_SCL_RWSCL_STATE_H

#include "base/check.h"
#include "base/numa.h"
#include "hint/hint.h"
#include "holdfast/rwscl.h"
#include "observe/observation.h"
#include "park/futex.h"
#include "thread/thread_record.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_rwscl_state {
    HF_RWSCL_WRITERS = 1,
    HF_RWSCL_FRONT = 2,
    HF_RWSCL_OVER = 4,
    HF_RWSCL_READERS_WAIT = 8,
    HF_RWSCL_TIMEKEEPER = 16,
    HF_RWSCL_ROUND = 32,
};

enum hf_rwscl_gate_state {
    HF_GATE_CLOSED = 1,
    HF_GATE_TIMED = 2, // a front writer waits: readers look at the time
    HF_GATE_READER = 4,
};

enum hf_rwscl_draining {
    HF_DRAIN_FRONT_SLEEPS = 1,
    HF_DRAIN_READER = 2,
};

// Kinds of sleepers on the state. HF_RWSCL_SLEEPS_FOR_A_TIME is a writer that waits for the word, and is woken by the
// round's end.
enum { HF_RWSCL_SLEEPS_TO_READ = 1, HF_RWSCL_SLEEPS_IN_FRONT = 2, HF_RWSCL_SLEEPS_FOR_A_TIME = 4 };

// Is it the readers' turn to wait?
static inline bool hf_rwscl_keeps_readers_out(uint32_t state) {
    return state & (HF_RWSCL_WRITERS | HF_RWSCL_OVER);
}

// Is a slice of the writers' under way? The owner of the word finds no drain.
static inline bool hf_rwscl_is_writers(uint32_t state) {
    return (state & (HF_RWSCL_WRITERS | HF_RWSCL_FRONT)) == HF_RWSCL_WRITERS;
}

static inline uint32_t hf_rwscl_round(uint32_t state) {
    return state / HF_RWSCL_ROUND;
}

// The gate of the node on which the caller runs now.
static inline struct hf_rwscl_gate *hf_rwscl_own_gate(hf_rwscl_t *lock) {
    return &lock->gates[hf_numa_nodes() == 1 ? 0 : hf_numa_node_of(hf_current_cpu())];
}

// Readers counted in a gate's word, or in `draining`; may be below 0.
static inline int32_t hf_gate_count(uint32_t readers) {
    return (int32_t)readers >> 2;
}
static inline int32_t hf_drain_count(uint32_t draining) {
    return (int32_t)draining >> 1;
}

// Readers inside, in the readers' slice: for a thread that has the word; for others advice.
static inline int32_t hf_rwscl_readers_inside(const hf_rwscl_t *lock) {
    int32_t inside = hf_drain_count(hf_load_relaxed(&lock->draining));
    for (uint32_t node = hf_numa_nodes(); node-- > 0;)
        inside += hf_gate_count(hf_load_relaxed(&lock->gates[node].readers));
    return inside;
}

// Enters by an open gate. Critical or not, the caller sees to it. Acquire, here and below: pairs with the release in
// let_readers_in; and, of a closed gate, with that in close_gates: a thread that finds it so sees no older state than
// that had.
static inline bool hf_gate_enter(struct hf_rwscl_gate *gate) {
    uint32_t readers = hf_load_acquire(&gate->readers);
    while (!(readers & HF_GATE_CLOSED)) {
        if (hf_cas_acquire_or_load(&gate->readers, &readers, readers + HF_GATE_READER))
            return true;
    }
    return false;
}

// What the lock is in statistics (observe/observation.h): itself, or the program's object that it stands for
// (rwscl_table.h). Asked by a thread that holds it, or waits.
static inline const void *hf_rwscl_shown_as(const hf_rwscl_t *lock) {
    const void *object = hf_load_relaxed(&lock->object);
    return object ? object : lock;
}

// A writer's wait: for the word, for the slice, for the last reader. One in statistics, which begins with the first of
// them; a writer that has none of them found the lock free.
struct hf_rwscl_wait {
    struct hf_wait wait;
    bool has_begun;
};

static inline void hf_rwscl_wait_begins(const hf_rwscl_t *lock, struct hf_rwscl_wait *wait,
                                        struct hf_thread_record *self) {
    if (wait->has_begun)
        return;
    wait->wait = hf_wait_begin(self, hf_rwscl_shown_as(lock));
    wait->has_begun = true;
    hf_count(self, contended);
}

// In rwscl.c.

// As hf_rwscl_read_lock, for a thread that reads already. False: it does not, and would have to wait.
bool hf_rwscl_read_again(hf_rwscl_t *lock, struct hf_thread_record *self) __attribute__((cold, visibility("hidden")));

// In rwscl_readers.c.

// Enters by an open gate, but not when a front writer waits and the readers' time is over: then says so. Requires that
// the caller is critical.
bool hf_rwscl_enter_in_time(hf_rwscl_t *lock) __attribute__((visibility("hidden")));

// For one that reads already: enters at once, whosever turn it is (rwscl.RS6). Requires that the caller is critical.
// False: it does not read, and a writer is or may be inside.
bool hf_rwscl_enter_again(hf_rwscl_t *lock) __attribute__((cold, visibility("hidden")));

// Waits to read, not critical. Returns 0 with the lock held for reading and the caller critical, or ETIMEDOUT.
int hf_rwscl_wait_to_read(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline)
    __attribute__((cold, visibility("hidden")));

// If the slice is the writers' and none of them is inside or waits, ends it. True with the lock held for reading and
// the caller critical.
bool hf_rwscl_read_out_of_turn(hf_rwscl_t *lock, struct hf_thread_record *self)
    __attribute__((cold, visibility("hidden")));

// In rwscl_word.c.

// Waits for the word, not critical. Returns 0 with the word and the caller critical, or ETIMEDOUT.
int hf_rwscl_wait_for_word(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline,
                           struct hf_rwscl_wait *wait) __attribute__((cold, visibility("hidden")));

// In the readers' slice. If the caller has not waited yet, and others wait for the word, leaves the front place to
// them: gives the word back, and waits for it as they do, after a timed sleep. Before and after that the caller has the
// word and is critical; the slice may be the writers' again. False: the caller has kept the word.
bool hf_rwscl_stands_back(hf_rwscl_t *lock, struct hf_thread_record *self, struct hf_rwscl_wait *wait)
    __attribute__((cold, visibility("hidden")));

// In rwscl_writers.c.

// These require that the caller has the word, and is critical. Afterwards it is so, too.

// In the writers' slice: gives the lock to the readers, and wakes those that wait.
void hf_rwscl_open(hf_rwscl_t *lock) __attribute__((cold, visibility("hidden")));

// The same, by a writer that may come back.
void hf_rwscl_end_slice(hf_rwscl_t *lock, struct hf_thread_record *self) __attribute__((cold, visibility("hidden")));

// In the readers' slice: waits for its end and for the readers to leave. Returns 0 in the writers' slice, or ETIMEDOUT
// in the readers'.
int hf_rwscl_wait_in_front(hf_rwscl_t *lock, struct hf_thread_record *self, const struct hf_deadline *deadline,
                           struct hf_rwscl_wait *wait) __attribute__((cold, visibility("hidden")));

// In the readers' slice: begins the writers', if no reader is inside.
bool hf_rwscl_write_out_of_turn(hf_rwscl_t *lock) __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
