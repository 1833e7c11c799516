// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// What the monitor keeps of a process: shared by the BPF program and its loader. The includer provides int64_t.
#ifndef HF_MONITOR_FOLLOWED_PROCESS_H
#define HF_MONITOR_FOLLOWED_PROCESS_H

struct hf_followed_process {
    int64_t tls_offset; // from the thread pointer to the pointer to the thread's record
};

#endif
