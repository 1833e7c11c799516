// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// What the samples of spinning threads and their reader say to each other. The includer provides integer types.
#ifndef HF_MONITOR_BPF_WAIT_EVIDENCE_H
#define HF_MONITOR_BPF_WAIT_EVIDENCE_H

// The two clocks' ticks, of a thread's own time. The slow one always runs; the fast one only where a sample of the slow
// one found a thread that seems to spin, since a tick costs a virtual machine 12 us.
enum { HF_SLOW_TICK_NS = 1000000, HF_FAST_TICK_NS = 100000 };

enum { HF_CODE_BYTES = 512, HF_CODE_BEFORE = HF_CODE_BYTES / 2 }; // around an instruction

struct hf_code_place {
    uint64_t address;
    uint32_t process; // as the kernel's first pid namespace numbers it
    uint32_t reserved;
};

// To the reader: is this a loop that only waits?
struct hf_code_seen {
    struct hf_code_place place;
    uint8_t code[HF_CODE_BYTES]; // from HF_CODE_BEFORE bytes before the address on; 0: not readable
};

// Another record of the ring, of one byte, says: a thread seems to spin, let the fast clock run.

// And its answer, for as long as these bytes are there.
struct hf_code_known {
    uint64_t first_bytes; // at the address
    uint32_t waits;
    uint32_t reserved;
};

enum hf_spin_count {
    HF_SPIN_SAMPLES,     // of the program's threads, in user space
    HF_SPIN_CONTESTED,   // of those, while another thread wanted the CPU
    HF_SPIN_DETECTIONS,  // a thread was in the same loop that only waits in two samples
    HF_SPIN_YIELDS,      // signals sent, or turns ended by the scheduler
    HF_SPIN_IN_VAIN,     // of those: nobody else had run when the thread was seen again
    HF_SPIN_UNREACHABLE, // the signal is blocked, or another's; the thread is traced
    HF_SPIN_COUNTS = 8
};

#endif
