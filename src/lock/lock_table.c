// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/lock_table.h"

#include <string.h>

#include "holdfast/holdfast.h"

#define HF_LOCK(name, waiting, summary) HF_LOCK_##waiting(name)
#define HF_LOCK_UNTIMED(name)                                                                                          \
    static void name##_lock(void *lock) {                                                                              \
        hf_##name##_lock(lock);                                                                                        \
    }                                                                                                                  \
    static bool name##_trylock(void *lock) {                                                                           \
        return hf_##name##_trylock(lock);                                                                              \
    }                                                                                                                  \
    static void name##_unlock(void *lock) {                                                                            \
        hf_##name##_unlock(lock);                                                                                      \
    }
#define HF_LOCK_TIMED(name)                                                                                            \
    HF_LOCK_UNTIMED(name)                                                                                              \
    static int name##_clocklock(void *lock, clockid_t clock, const struct timespec *deadline) {                        \
        return hf_##name##_clocklock(lock, clock, deadline);                                                           \
    }
#include "lock/lock_list.def"
#undef HF_LOCK

#define HF_CLOCKLOCK_TIMED(name) name##_clocklock
#define HF_CLOCKLOCK_UNTIMED(name) NULL
#define HF_LOCK(name_, waiting, summary_)                                                                              \
    {                                                                                                                  \
        .name = #name_,                                                                                                \
        .summary = summary_,                                                                                           \
        .bytes = sizeof(hf_##name_##_t),                                                                               \
        .lock = name_##_lock,                                                                                          \
        .trylock = name_##_trylock,                                                                                    \
        .unlock = name_##_unlock,                                                                                      \
        .clocklock = HF_CLOCKLOCK_##waiting(name_),                                                                    \
    },
const struct hf_lock_kind hf_lock_kinds[] = {
#include "lock/lock_list.def"
};

const size_t hf_lock_kind_count = sizeof(hf_lock_kinds) / sizeof(hf_lock_kinds[0]);

const struct hf_lock_kind *hf_lock_kind_find(const char *name) {
    if (strcmp(name, "default") == 0)
        name = HF_DEFAULT_LOCK;
    for (size_t i = 0; i < hf_lock_kind_count; i++) {
        if (strcmp(name, hf_lock_kinds[i].name) == 0)
            return &hf_lock_kinds[i];
    }
    return NULL;
}
