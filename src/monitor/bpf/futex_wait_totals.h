// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// What the futex watch counts: shared by the BPF program and its loader. The includer provides fixed-width types.
#ifndef HF_MONITOR_BPF_FUTEX_WAIT_TOTALS_H
#define HF_MONITOR_BPF_FUTEX_WAIT_TOTALS_H

#include "monitor/bpf/futex_look.h"

// Of a whole process, or of one word of its memory. A process's number may be given again, not so with its start.
struct hf_futex_key {
    uint64_t started_ns; // when the process did, since boot, sleep included
    uint64_t address;    // 0: all words of the process
    uint32_t pid;        // as the loader's pid namespace has it
    uint32_t padding;    // 0
};

// A bucket for each power of two of nanoseconds: bucket i has waits from 2^i on.
enum { HF_FUTEX_BUCKETS = 64 };

// At most so many keys at a time.
enum { HF_FUTEX_KEYS = 16384 };

// Sleeps that have ended. For a lock: the call looks like one (HF_FUTEX_OF_LOCK).
struct hf_futex_totals {
    uint64_t sleeps;
    uint64_t lock_waits; // of the sleeps, those for locks; the rest is of these
    uint64_t twos;       // HF_FUTEX_IS_TWO
    uint64_t lock_waited_ns;
    uint64_t longest_ns;
    uint32_t bucket[HF_FUTEX_BUCKETS];
};

// A thread that sleeps for a lock at this moment.
struct hf_futex_sleeper {
    struct hf_futex_key key;
    uint64_t since_ns; // CLOCK_MONOTONIC; of a sleep that is older than the watch, when that first looked
    uint32_t look;     // enum hf_futex_look
    uint32_t padding;  // 0
};

#endif
