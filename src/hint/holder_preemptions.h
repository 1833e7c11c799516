// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// What the monitor keeps of lock holders that were not running, lock by lock: shared by the BPF program and those who
// read it. The includer provides integer types.
//
// A lock is an address in a process. Its holder is whoever published that address last before it left the CPU with a
// critical_depth above 0 (struct hf_critical_words): exact for a thread that holds one lock. Of a thread that holds
// several it is the one taken last, even if that has been given back.
#ifndef HF_HINT_HOLDER_PREEMPTIONS_H
#define HF_HINT_HOLDER_PREEMPTIONS_H

enum {
    // In all programs together. Of more, those that nobody has been preempted with for longest are forgotten.
    HF_ABSENCE_LOCKS = 8192,
    HF_HOLDER_STACK_FRAMES = 16,
};

// One stack a lock is kept, that of a holder that was preempted lately: no newer one is taken before this time is over.
#define HF_HOLDER_STACKS_APART_NS 10000000ull

struct hf_absence_key {
    uint64_t followed_since_ns; // the process (struct hf_followed_process)
    uint64_t lock;
};

// All sums grow for as long as the lock is remembered.
struct hf_holder_absences {
    uint64_t preemptions;  // of holders that could have gone on
    uint64_t preempted_ns; // that these were away; of those that are back
    uint64_t sleeps;       // of holders that chose to sleep
    uint64_t asleep_ns;
    uint64_t longest_ns;                    // that one was preempted
    uint32_t longest_thread;                // which
    uint32_t stack_is_taken;                // by one CPU at a time: 1 while it writes what follows
    uint64_t stack_ns;                      // CLOCK_MONOTONIC; 0: there is none yet
    uint64_t stack[HF_HOLDER_STACK_FRAMES]; // code addresses, innermost first, 0 after the last one. By frame pointers:
                                            // code without them shows the place where it was, and chance after that
};

#endif
