// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// What the watch over waits tells of one wait: shared by the BPF program and its loader. The includer provides
// fixed-width types.
#ifndef HF_MONITOR_BPF_WAIT_EVENTS_H
#define HF_MONITOR_BPF_WAIT_EVENTS_H

#include "monitor/bpf/futex_look.h"

enum hf_wait_event_kind {
    HF_WAIT_BEGINS,      // of the waiter, with its stack
    HF_WAIT_RELEASED,    // of the thread that wakes it, with that one's stack
    HF_WAIT_ENDS,        // of the waiter: it has its CPU back; at_ns 0: that was before, and nobody saw when
    HF_THREAD_PREEMPTED, // of any thread: it lost its CPU at begun_ns, and has it back
};

// One wait is told from others by its thread and its begin.
struct hf_wait_event {
    uint64_t begun_ns; // CLOCK_MONOTONIC
    uint64_t at_ns;
    uint64_t address; // of the futex
    uint64_t process_started_ns;
    uint64_t held_since_ns; // of a releaser that slept for this word: when it came back; 0: not known
    uint32_t kind;
    uint32_t process; // these as the loader's pid namespace has them
    uint32_t waiter;
    uint32_t thread; // that the event is of
    uint32_t weight; // so many waits this one stands for
    uint32_t look;   // enum hf_futex_look; no bit of HF_FUTEX_OF_LOCK: for a condition, a join, a timer
};

enum { HF_STACK_BYTES = 8192, HF_STACK_REGISTERS = 33 };

// Where a thread was, and what its stack had from there on: unwound by the reader, since programs that are built
// without frame pointers, the C library's lock functions among them, can't be unwound in the kernel.
struct hf_stack {
    uint64_t known;                         // a bit for each register
    uint64_t registers[HF_STACK_REGISTERS]; // by DWARF's numbers
    uint64_t instruction;
    uint64_t from; // the address of the first of the bytes
    uint32_t bytes;
    uint32_t padding;
    uint8_t content[HF_STACK_BYTES];
};

struct hf_wait_event_with_stack {
    struct hf_wait_event event;
    struct hf_stack stack;
};

#endif
