// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// What the scheduler leaves for its loader to read. Its includer provides fixed-width integer types.
#ifndef HF_OVERSUB_BPF_SCHEDULER_EXIT_H
#define HF_OVERSUB_BPF_SCHEDULER_EXIT_H

// Why the kernel has thrown the scheduler out, in its words.
struct hf_scheduler_exit {
    uint64_t code;
    uint32_t kind; // 0: it has not
    char reason[128];
    char message[256];
};

// What has happened since the scheduler started.
struct hf_scheduler_totals {
    uint64_t blocked;     // waits that were virtual
    uint64_t left_asleep; // waits that were left to the futex: each waiter could have a CPU of its own
    uint64_t woken;       // by a wake
    uint64_t interrupted; // by a signal
    uint64_t expired;     // sent to the futex after their time
    uint64_t longer;      // turns that were made longer, since the thread held a lock
    uint64_t first;       // threads that held one even then, and went first
};

#endif
