// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// What the monitor keeps of a process: shared by the BPF program and its loader. The includer provides int64_t.
#ifndef HF_MONITOR_FOLLOWED_PROCESS_H
#define HF_MONITOR_FOLLOWED_PROCESS_H

// A program that is linked with Holdfast and runs under the interposer too has the library, hence a thread's record,
// twice.
enum { HF_RECORDS_A_THREAD = 2 };

struct hf_followed_process {
    // From the thread pointer to the pointer to the thread's record; 0, which is no library's, where there is none.
    int64_t tls_offset[HF_RECORDS_A_THREAD];
};

#endif
