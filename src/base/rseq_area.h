// SPDX-License-Identifier: MIT OR Apache-2.0
// The area in which the kernel tells a thread its CPU and, since Linux 7.0, hears that the thread wants a longer time
// slice. A thread has one at a time; since 2.35 glibc registers it.
//
//     glibc's, 32 bytes  --hf_rseq_area_enlarge()-->  ours, as large as the kernel's own
//                        <--the kernel refuses it---
//
// Linux 7.1 and later hear of time slices in areas of the latter kind alone, which glibc itself registers since 2.41.
// While a thread has ours, glibc's says that it is not registered: whoever reads that one asks the kernel. glibc takes
// that for a kernel which refuses, and registers none for threads that this one makes: they get ours as well.
//
// Numbers and layout are Linux's (the user headers linux/rseq.h and linux/prctl.h), which older headers do not have.
#ifndef HF_BASE_RSEQ_AREA_H
#define HF_BASE_RSEQ_AREA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hf_slice_control {
    uint8_t request; // by the thread; the kernel clears it when it grants
    uint8_t granted; // by the kernel alone
    uint16_t reserved;
};

struct hf_rseq_area {
    uint32_t cpu_id_start;
    uint32_t cpu_id; // HF_RSEQ_NO_CPU and above: not registered
    uint64_t rseq_cs;
    uint32_t flags;
    uint32_t node_id;
    uint32_t mm_cid;
    struct hf_slice_control slice;
    uint8_t later_fields[32];
} HF_CACHE_ALIGNED;

#define HF_RSEQ_NO_CPU 0x80000000u

// glibc's of the calling thread. NULL: it registers none.
struct hf_rseq_area *hf_rseq_area_of_glibc(void);

// The calling thread's. NULL: it has none.
struct hf_rseq_area *hf_own_rseq_area(void);

// Exchanges glibc's area for one of ours. False: the thread has ours already, its own is no area of 32 bytes, the
// kernel wants none that is larger, or more than we have, or somebody else has registered one; then all is as before.
bool hf_rseq_area_enlarge(void) __attribute__((cold));

#ifdef __cplusplus
}
#endif

#endif
