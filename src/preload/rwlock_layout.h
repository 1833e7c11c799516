// SPDX-License-Identifier: MIT OR Apache-2.0
// Where a lock of Holdfast's lives inside glibc's pthread_rwlock_t.
//
//      bytes   glibc calls it                  Holdfast keeps there
//      0..23   __readers ... __pad4            the lock
//     24..27   __cur_writer                    the writer's tid, as glibc
//     28..31   __shared                        as glibc; not 0: the lock is glibc's entirely
//     32..39   __pad1; x86: __rwelision, too   where its RW-SCL lock is, if it is one (sliced_rwlock.h)
//     40..43   __pad2                          which rule it has, where there are rules (rwlock_choice.h)
//     48..51   __flags                         which of readers and writers it prefers, as glibc: readers, unless the
//                                              kind is PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
#ifndef HF_PRELOAD_RWLOCK_LAYOUT_H
#define HF_PRELOAD_RWLOCK_LAYOUT_H

#include <pthread.h>
#include <stddef.h>

#include "lock/posix/read_write_lock.h"
#include "lock/scl/rwscl_table.h"

struct hf_rwlock {
    struct hf_rw_lock lock;
    uint32_t writer;
    uint32_t shared;
    struct hf_rwscl_entry *sliced;
    uint32_t rule; // enum hf_rwlock_rule and a number
    uint32_t unused_too;
    uint32_t kind;
};

#define HF_SAME_PLACE(ours, glibcs)                                                                                    \
    _Static_assert(offsetof(struct hf_rwlock, ours) == offsetof(pthread_rwlock_t, __data.glibcs),                      \
                   "as glibc lays it out")
HF_SAME_PLACE(lock, __readers);
HF_SAME_PLACE(writer, __cur_writer);
HF_SAME_PLACE(shared, __shared);
HF_SAME_PLACE(rule, __pad2);
HF_SAME_PLACE(kind, __flags);
#undef HF_SAME_PLACE
_Static_assert(offsetof(struct hf_rwlock, sliced) == offsetof(pthread_rwlock_t, __data.__shared) + sizeof(int),
               "where glibc keeps nothing but, on x86, a byte for lock elision");
_Static_assert(sizeof(struct hf_rwlock) <= sizeof(pthread_rwlock_t), "nothing behind glibc's lock");

static inline struct hf_rwlock *hf_rwlock_in(pthread_rwlock_t *posix) {
    return (struct hf_rwlock *)posix;
}

static inline bool hf_rwlock_is_writer(const struct hf_rwlock *rwlock, const struct hf_thread_record *self) {
    // Relaxed: only the caller itself can have stored the caller's tid there.
    return hf_load_relaxed(&rwlock->writer) == hf_tid(self);
}

static inline void hf_rwlock_become_writer(struct hf_rwlock *rwlock, const struct hf_thread_record *self) {
    hf_store_relaxed(&rwlock->writer, hf_tid(self));
}

static inline bool hf_rwlock_prefers_writers(const struct hf_rwlock *rwlock) {
    return rwlock->kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

#endif
