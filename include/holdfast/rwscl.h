// SPDX-License-Identifier: MIT OR Apache-2.0
// RW-SCL, the scheduler-cooperative reader-writer lock (Patel et al., EuroSys '20, section 4.5): shares the *time* that
// a lock can be used between those who read and those who write, in a ratio that the program sets. Readers have the
// lock for a slice, then writers, then readers again; so neither kind starves, however many threads the other has.
//
// Guarantees: a writer is alone; readers are together; no wake-up is lost; while both kinds keep wanting the lock their
// slices alternate, as long as the ratio says; a kind that nobody of the other kind waits for goes on without
// interruption. Not guaranteed: who is next within a kind. Departures from the paper, and figures: docs/rwscl.md.
#ifndef HOLDFAST_RWSCL_H
#define HOLDFAST_RWSCL_H

#include "holdfast/api.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HF_RWSCL_SLICE_US_MAX = 100000,
    HF_RWSCL_WEIGHT_MAX = 1000,
    HF_RWSCL_GATES = 8, // counters of readers: one for each NUMA node; more nodes share
};

struct hf_thread_record;

struct hf_rwscl_gate {
    uint32_t readers;
    uint32_t last_reader;
    uint64_t seen_ticks;
} __attribute__((aligned(64)));

// All fields are private. 640 bytes, ten cache lines, of which a machine with one NUMA node uses three; nothing is
// allocated. Memory for it must be aligned to 64 bytes (aligned_alloc, new).
typedef struct hf_rwscl {
    uint32_t word;
    uint32_t state;
    struct hf_thread_record *spinners;
    uint32_t draining;
    uint32_t weights;
    uint32_t slice;
    uint32_t last_writer;
    uint32_t waiting_readers;
    uint32_t waiting_writers;
    uint64_t slice_end;
    uint64_t waited_since;
    uint64_t written_at;
    uint64_t changed_at;
    uint16_t releases;
    uint8_t writers_return;
    uint8_t readers_return;
    uint32_t ender_sleeps;
    uint64_t ender_ran_us;
    const void *object;
    struct hf_rwscl_gate gates[HF_RWSCL_GATES];
} hf_rwscl_t;

#define HF_RWSCL_INIT                                                                                                  \
    {                                                                                                                  \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {                                                     \
            { 0, 0, 0 }                                                                                                \
        }                                                                                                              \
    }

// Makes the lock free, with readers and writers alike (1:1) and the default slice, 2,000 microseconds. Zeroed memory is
// a free lock too. There is nothing to destroy.
HF_API void hf_rwscl_init(hf_rwscl_t *lock);

// Sets the ratio of the time of readers to the time of writers: each from 1 to HF_RWSCL_WEIGHT_MAX. Returns 0 or
// EINVAL. May be called at any time; holds from the next slice on.
HF_API int hf_rwscl_set_ratio(hf_rwscl_t *lock, uint32_t readers, uint32_t writers);

// Sets the length of a slice of the kind that has less of the time, 0 (a slice is one critical section) to
// HF_RWSCL_SLICE_US_MAX microseconds; the other kind's is longer by the ratio. Returns 0 or EINVAL. May be called at
// any time; holds from the next slice on.
HF_API int hf_rwscl_set_slice(hf_rwscl_t *lock, uint32_t slice_us);

// Takes the lock for reading, together with other readers; waits while it is written and while the slice is the
// writers'. Requires that the caller does not hold it, not even for reading: in between, a writer's turn may have come.
// What earlier writers wrote is visible afterwards.
HF_API void hf_rwscl_read_lock(hf_rwscl_t *lock);

// Takes the lock for reading if no writer has it or waits for the readers to leave, whosever the slice is, and says
// whether it did. Never waits.
HF_API bool hf_rwscl_read_trylock(hf_rwscl_t *lock);

// Takes the lock for reading, or gives up at the absolute time `deadline` on `clock` (CLOCK_REALTIME or
// CLOCK_MONOTONIC). Returns 0; ETIMEDOUT; or EINVAL, without waiting, when the caller would have to wait and the clock
// is another one or deadline->tv_nsec is not within 0 to 999,999,999. A deadline in the past is allowed: the lock is
// tried once.
HF_API int hf_rwscl_read_clocklock(hf_rwscl_t *lock, int clock, const struct timespec *deadline);

// Gives back what the calling thread has taken for reading. Once a writer has the lock it may free the lock's memory,
// even before this call has returned.
HF_API void hf_rwscl_read_unlock(hf_rwscl_t *lock);

// Takes the lock for writing, alone; waits while anybody has it and while the slice is the readers'. Requires that the
// caller does not hold it. What earlier holders did is visible afterwards.
HF_API void hf_rwscl_write_lock(hf_rwscl_t *lock);

// Takes the lock for writing if nobody has it, whosever the slice is, and says whether it did. Never waits.
HF_API bool hf_rwscl_write_trylock(hf_rwscl_t *lock);

// As hf_rwscl_read_clocklock, for writing.
HF_API int hf_rwscl_write_clocklock(hf_rwscl_t *lock, int clock, const struct timespec *deadline);

// Gives back what the calling thread has taken for writing. Once another writer has the lock it may free the lock's
// memory, even before this call has returned. (A reader may not: it does not know who else reads.)
HF_API void hf_rwscl_write_unlock(hf_rwscl_t *lock);

#ifdef __cplusplus
}
#endif

#endif
