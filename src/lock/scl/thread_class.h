// SPDX-License-Identifier: MIT OR Apache-2.0
// Kinds of threads, as their names tell: those of one kind are one class of locks that share time (lock/scl/share.h).
// For unmodified programs, which call nothing of ours.
//
// A kind is a name as pthread_setname_np or prctl has set it, without a number at its end and what separates that from
// the rest: "pool-1", "pool-2" and "pool" are one kind. Its class is a hash of it, so that nothing is kept for a name.
#ifndef HF_LOCK_SCL_THREAD_CLASS_H
#define HF_LOCK_SCL_THREAD_CLASS_H

#include "thread/thread_record.h"

#ifdef __cplusplus
extern "C" {
#endif

// From now on, in this process.
void hf_thread_kinds_are_classes(void);

extern bool hf_kinds_are_classes __attribute__((visibility("hidden")));

// The class of the kind of that name, of at most 15 characters.
uint64_t hf_class_of_name(const char *name);

void hf_thread_look_at_name(struct hf_thread_record *self) __attribute__((cold));

// The caller's class follows its name, unless it has put itself into another one. To be called where it comes to wait:
// a thread may be named at any time, by itself or by others, and is looked at again then. Costs a system call where
// kinds are classes, and a load elsewhere. Does not change errno.
static inline void hf_thread_follow_name(struct hf_thread_record *self) {
    if (HF_UNLIKELY(hf_load_relaxed(&hf_kinds_are_classes)))
        hf_thread_look_at_name(self);
}

#ifdef __cplusplus
}
#endif

#endif
