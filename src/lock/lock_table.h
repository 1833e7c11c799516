// SPDX-License-Identifier: MIT OR Apache-2.0
// The locks of lock_list.def as a table, for code that picks one by name.
#ifndef HF_LOCK_LOCK_TABLE_H
#define HF_LOCK_LOCK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

// The lock that the name "default" stands for.
#define HF_DEFAULT_LOCK "flexguard"

struct hf_lock_kind {
    const char *name;
    const char *summary;
    size_t bytes; // a free lock is that many zero bytes, aligned for a pointer
    void (*lock)(void *lock);
    bool (*trylock)(void *lock);
    void (*unlock)(void *lock);
    int (*clocklock)(void *lock, clockid_t clock, const struct timespec *deadline); // NULL: waiters can't give up
};

extern const struct hf_lock_kind hf_lock_kinds[];
extern const size_t hf_lock_kind_count;

// The lock of that name ("default" included), or NULL.
const struct hf_lock_kind *hf_lock_kind_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
