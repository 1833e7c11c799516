// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/glibc_layout.h"

#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "lock/posix/spin_word.h"
#include "park/word_lock.h"
#include "preload/barrier_layout.h"
#include "preload/cond_layout.h"
#include "preload/libc_function.h"
#include "preload/mutex_layout.h"
#include "preload/rwlock_layout.h"

enum { HF_UNWRITTEN = 0xaa }; // in each byte of an object before it is initialised

static bool is_zero(const void *memory, size_t from, size_t to) {
    const unsigned char *bytes = memory;
    for (size_t i = from; i < to; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

// All but the four bytes of one attribute, or of two.
static bool is_zero_but(const void *memory, size_t bytes, size_t attribute, size_t other) {
    size_t first = attribute < other ? attribute : other, second = attribute < other ? other : attribute;
    return is_zero(memory, 0, first) && is_zero(memory, first + 4, second) && is_zero(memory, second + 4, bytes);
}

struct mutex_attributes {
    int type, shared, robust;
};

static bool make_mutex(const struct hf_makers *by, pthread_mutex_t *mutex, struct mutex_attributes wanted) {
    pthread_mutexattr_t attributes;
    memset(mutex, HF_UNWRITTEN, sizeof(*mutex));
    return by->mutexattr_init(&attributes) == 0 && by->mutexattr_settype(&attributes, wanted.type) == 0 &&
           by->mutexattr_setpshared(&attributes, wanted.shared) == 0 &&
           by->mutexattr_setrobust(&attributes, wanted.robust) == 0 && by->mutex_init(mutex, &attributes) == 0;
}

// Not one with a protocol: to make its first one, glibc makes system calls, which a sandbox may not allow.
static bool mutex_says_what_it_is(const struct hf_makers *by) {
    static const struct mutex_attributes not_ours[] = {
        {.shared = PTHREAD_PROCESS_SHARED},
        {.robust = PTHREAD_MUTEX_ROBUST},
    };
    pthread_mutex_t mutex;
    for (int type = PTHREAD_MUTEX_TIMED_NP; type <= PTHREAD_MUTEX_ADAPTIVE_NP; type++) {
        size_t kind = offsetof(struct hf_mutex, kind);
        if (!make_mutex(by, &mutex, (struct mutex_attributes){.type = type}) ||
            !hf_mutex_is_ours(hf_mutex_in(&mutex)) || (int)hf_mutex_type_of(hf_mutex_in(&mutex)) != type ||
            !is_zero_but(&mutex, sizeof(mutex), kind, kind))
            return false;
    }
    for (size_t i = 0; i < sizeof(not_ours) / sizeof(not_ours[0]); i++)
        if (!make_mutex(by, &mutex, not_ours[i]) || hf_mutex_is_ours(hf_mutex_in(&mutex)))
            return false;
    return true;
}

static bool succeeds_twice(int (*call)(pthread_mutex_t *), pthread_mutex_t *mutex) {
    for (int i = 0; i < 2; i++)
        if (call(mutex) != 0)
            return false;
    return true;
}

// Word, owner and depth are the C library's and ours by turns, so they have to mean the same.
static bool mutex_is_locked_as_ours(const struct hf_makers *by) {
    pthread_mutex_t mutex;
    const struct hf_mutex *seen = hf_mutex_in(&mutex);
    if (!make_mutex(by, &mutex, (struct mutex_attributes){.type = PTHREAD_MUTEX_RECURSIVE_NP}) ||
        !succeeds_twice(by->mutex_lock, &mutex))
        return false;
    bool held = seen->word == HF_WORD_HELD && seen->count == 2 && seen->owner != 0 && seen->nusers == 1;
    return held && succeeds_twice(by->mutex_unlock, &mutex) && seen->word == HF_WORD_FREE && seen->count == 0 &&
           seen->owner == 0 && seen->nusers == 0;
}

static bool mutex_fits(const struct hf_makers *by) {
    return by->mutexattr_init && by->mutexattr_settype && by->mutexattr_setpshared && by->mutexattr_setrobust &&
           by->mutex_init && by->mutex_lock && by->mutex_unlock && mutex_says_what_it_is(by) &&
           mutex_is_locked_as_ours(by);
}

static bool cond_fits(const struct hf_makers *by) {
    if (!by->condattr_init || !by->condattr_setpshared || !by->condattr_setclock || !by->cond_init)
        return false;
    for (unsigned wanted = 0; wanted <= (HF_COND_SHARED | HF_COND_MONOTONIC); wanted++) {
        pthread_condattr_t attributes;
        pthread_cond_t cond;
        memset(&cond, HF_UNWRITTEN, sizeof(cond));
        int shared = wanted & HF_COND_SHARED ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
        clockid_t clock = wanted & HF_COND_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        if (by->condattr_init(&attributes) != 0 || by->condattr_setpshared(&attributes, shared) != 0 ||
            by->condattr_setclock(&attributes, clock) != 0 || by->cond_init(&cond, &attributes) != 0 ||
            !is_zero(&cond, 0, HF_COND_OURS_BYTES) || hf_cond_attributes(&cond) != wanted)
            return false;
    }
    return true;
}

static bool rwlock_fits(const struct hf_makers *by) {
    static const int kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};
    if (!by->rwlockattr_init || !by->rwlockattr_setpshared || !by->rwlockattr_setkind_np || !by->rwlock_init)
        return false;
    for (int i = 0; i < 4; i++) {
        pthread_rwlockattr_t attributes;
        pthread_rwlock_t rwlock;
        const struct hf_rwlock *seen = hf_rwlock_in(&rwlock);
        int shared = i & 1 ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE, kind = kinds[i >> 1];
        memset(&rwlock, HF_UNWRITTEN, sizeof(rwlock));
        if (by->rwlockattr_init(&attributes) != 0 || by->rwlockattr_setpshared(&attributes, shared) != 0 ||
            by->rwlockattr_setkind_np(&attributes, kind) != 0 || by->rwlock_init(&rwlock, &attributes) != 0 ||
            (seen->shared != 0) != (shared == PTHREAD_PROCESS_SHARED) || (int)seen->kind != kind ||
            !is_zero_but(&rwlock, sizeof(rwlock), offsetof(struct hf_rwlock, shared), offsetof(struct hf_rwlock, kind)))
            return false;
    }
    return true;
}

// All of a spinlock is its word, which processes without Holdfast may share.
static bool spin_fits(const struct hf_makers *by) {
    pthread_spinlock_t spin = ~0;
    if (!by->spin_init || !by->spin_lock || !by->spin_unlock)
        return false;
    return by->spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0 && spin == HF_SPIN_FREE && by->spin_lock(&spin) == 0 &&
           spin == HF_SPIN_HELD && by->spin_unlock(&spin) == 0 && spin == HF_SPIN_FREE;
}

// Rounds of one thread, which waits for nobody.
static bool barrier_counts(const struct hf_makers *by) {
    pthread_barrier_t barrier;
    const struct hf_barrier *seen = hf_barrier_in(&barrier);
    if (by->barrier_init(&barrier, NULL, 1) != 0)
        return false;
    for (uint32_t round = 1; round <= 3; round++) {
        if (by->barrier_wait(&barrier) != PTHREAD_BARRIER_SERIAL_THREAD || seen->in != round || seen->let_go != round ||
            seen->out != round)
            return false;
    }
    return true;
}

static bool barrier_fits(const struct hf_makers *by) {
    enum { SOME_COUNT = 0x01020304 };
    if (!by->barrierattr_init || !by->barrierattr_setpshared || !by->barrier_init || !by->barrier_wait)
        return false;
    for (int shared = PTHREAD_PROCESS_PRIVATE; shared <= PTHREAD_PROCESS_SHARED; shared++) {
        pthread_barrierattr_t attributes;
        pthread_barrier_t barrier;
        const struct hf_barrier *seen = hf_barrier_in(&barrier);
        memset(&barrier, HF_UNWRITTEN, sizeof(barrier));
        if (by->barrierattr_init(&attributes) != 0 || by->barrierattr_setpshared(&attributes, shared) != 0 ||
            by->barrier_init(&barrier, &attributes, SOME_COUNT) != 0 || seen->count != SOME_COUNT ||
            (seen->shared != 0) != (shared == PTHREAD_PROCESS_SHARED) || seen->in != 0 || seen->let_go != 0 ||
            seen->out != 0)
            return false;
    }
    return barrier_counts(by);
}

bool hf_layout_fits(enum hf_object object, const struct hf_makers *makers) {
    switch (object) {
    case HF_OBJECT_MUTEX: return mutex_fits(makers);
    case HF_OBJECT_COND: return cond_fits(makers);
    case HF_OBJECT_RWLOCK: return rwlock_fits(makers);
    case HF_OBJECT_SPIN: return spin_fits(makers);
    case HF_OBJECT_BARRIER: return barrier_fits(makers);
    case HF_OBJECTS: break;
    }
    return false;
}

static uint32_t look_at_all(void) {
    struct hf_makers makers;
#define HF_MAKER(result, name, ...) *(void **)&makers.name = hf_libc_function("pthread_" #name);
#include "preload/object_makers.def"
#undef HF_MAKER
    uint32_t fitting = 0;
    for (int object = 0; object < HF_OBJECTS; object++)
        fitting |= (uint32_t)hf_layout_fits((enum hf_object)object, &makers) << object;
    return fitting;
}

bool hf_object_fits(enum hf_object object) {
    enum { HF_LOOKED = 1 << HF_OBJECTS };
    static uint32_t found;
    uint32_t fitting = hf_load_relaxed(&found);
    if (!fitting) { // threads that come here together all find the same
        fitting = look_at_all() | HF_LOOKED;
        hf_store_relaxed(&found, fitting);
    }
    return fitting >> object & 1;
}
