// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// What the monitor keeps of a process: shared by the BPF program and its loader. The includer
// provides integer types, and hint/hint_page.h.
#ifndef HF_MONITOR_BPF_FOLLOWED_PROCESS_H
#define HF_MONITOR_BPF_FOLLOWED_PROCESS_H

// A program that is linked with Holdfast and runs under the interposer too has the library, hence a thread's record,
// twice.
enum { HF_RECORDS_A_THREAD = 2 };

struct hf_followed_process {
    // From the thread pointer to the pointer to the thread's record; 0, which is no library's, where there is none.
    int64_t tls_offset[HF_RECORDS_A_THREAD];
    uint32_t group; // on the page: struct hf_hint_group
    uint32_t user;  // who registered it
    // CLOCK_MONOTONIC. No two processes have begun in the same nanosecond: another name for this one, for as long as it
    // is this program.
    uint64_t since_ns;
};

// What a walk over all threads finds of a group.
struct hf_group_found {
    uint64_t cpus[HF_HINT_CPUS / 64]; // that one of its threads, at least, may use
    uint32_t processes;
    uint32_t threads;
    uint32_t user;   // of one of them; a group of this service's has one alone
    uint32_t behind; // threads with a mark from when the group counted in another scope (scope.S1)
};

#endif
