// SPDX-License-Identifier: MIT OR Apache-2.0
// RW-SCL locks for objects in which there is room for a pointer alone (pthread_rwlock_t). Made when an object is used
// for the first time, and found by its address: a lock that is made where one was that nobody has destroyed (C++'s
// std::shared_mutex never is) takes over that one's memory. It is never given back to the system; so a thread that is
// late in leaving a lock that the next one has already destroyed finds memory. It becomes another object's lock only
// when nobody is inside or on the way out.
#ifndef HF_LOCK_SCL_RWSCL_TABLE_H
#define HF_LOCK_SCL_RWSCL_TABLE_H

#include "base/atomic.h"
#include "base/cpu.h"
#include "holdfast/rwscl.h"
#include "park/fork_guard.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hf_rwscl_entry {
    const void *object;            // whose lock it is; NULL: nobody's
    struct hf_rwscl_entry *in_row; // of the table, or spare
    struct hf_rwscl_entry *made_before;
    hf_rwscl_t lock; // last: it has no more gates than there are nodes
};

struct hf_rwscl_options {
    uint32_t readers, writers; // the ratio; 0: as ever
    uint32_t slice_us_plus_1;  // 0: as ever
};

// In an object: there is no memory for a lock, and there never will be one.
extern struct hf_rwscl_entry hf_rwscl_no_entry __attribute__((visibility("hidden")));

// Of the table in a forked child.
extern struct hf_fork_guard hf_rwscl_fork_guard __attribute__((visibility("hidden")));

// What has to be done before the first fork.
void hf_rwscl_table_watch_forks(void) __attribute__((cold));

struct hf_rwscl_entry *hf_rwscl_entry_made(const void *object, struct hf_rwscl_entry **place,
                                           const struct hf_rwscl_options *options) __attribute__((cold));

// The object's lock. `place` is where the object keeps it: NULL at first, or whatever an object has there that was
// copied from another one. NULL: no memory, from the first call for this object on.
static inline hf_rwscl_t *hf_rwscl_of(const void *object, struct hf_rwscl_entry **place,
                                      const struct hf_rwscl_options *options) {
    // Acquire: pairs with the release of the thread that has made it.
    struct hf_rwscl_entry *entry = hf_load_acquire(place);
    if (HF_UNLIKELY(!entry || hf_load_relaxed(&entry->object) != object ||
                    !hf_fork_guard_is_in_order(&hf_rwscl_fork_guard)))
        entry = hf_rwscl_entry_made(object, place, options);
    return HF_LIKELY(entry != NULL) ? &entry->lock : NULL;
}

// The object is destroyed.
void hf_rwscl_give_back(const void *object, struct hf_rwscl_entry **place) __attribute__((cold));

#ifdef __cplusplus
}
#endif

#endif
