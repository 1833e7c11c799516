// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reads what a thread says of itself (hint/hint_page.h), by the pointer to its record that lies in its TLS. The
// thread's memory map must be current. Nothing that is read is trusted: at worst a thread calls itself critical.
#ifndef HF_MONITOR_BPF_CRITICAL_WORDS_BPF_H
#define HF_MONITOR_BPF_CRITICAL_WORDS_BPF_H

#include "hint/hint_page.h"

// A program at a switch can't wait for a page that is not there (swapped out, or never touched).
enum record_seen { RECORD_IS_NOT_THERE, RECORD_IS_READ, RECORD_IS_UNREADABLE };

static enum record_seen read_record(const char *record_pointer_at, struct hf_critical_words *words) {
    const void *record;
    if (bpf_probe_read_user(&record, sizeof(record), record_pointer_at))
        return RECORD_IS_UNREADABLE;
    if (!record)
        return RECORD_IS_NOT_THERE;
    return bpf_probe_read_user(words, sizeof(*words), record) ? RECORD_IS_UNREADABLE : RECORD_IS_READ;
}

#endif
