// SPDX-License-Identifier: MIT OR Apache-2.0
// Real-time threads that wait for a lock, whatever lock it is: in lists, by the lock's word, in order of priority, and
// of those of one priority by arrival. The others' one test is whether the process expects any (thread/realtime.h).
//
// A lock is not handed over. The first one polls its word, or sleeps on it, and is woken first, for so the kernel
// has it; and all others who come upon a free word in a wait leave it to the first:
//
//     word free --> a real-time thread of more right waits for it? -- no, or for HF_GIVE_WAY_NS by now --> takes it
//                         | yes                                                     ^
//                         +-- polls --------------------------------------------------+
//
// RT1 Advice. The lists decide when a thread takes the word, not whether it may, nor how: exclusion and wake-ups rest
//     on the word alone (word.I1 and I2, park/word_lock.h). A thread that gives way is awake, and goes on: a wake that
//     it has had is not lost. So a first one that does not come (it waits for a CPU itself, or is suspended) costs the
//     others HF_GIVE_WAY_NS each.
// RT2 A node is in a list from join() until leave(), and nobody else touches it after that.
#ifndef HF_LOCK_WAIT_REALTIME_WAITERS_H
#define HF_LOCK_WAIT_REALTIME_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "lock/wait/tuning.h"
#include "thread/realtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// On the waiter's stack.
struct hf_realtime_waiter {
    struct hf_realtime_waiter *next;
    const uint32_t *word; // NULL: in no list
    uint32_t priority;
    uint32_t is_first; // nobody of more right waits for the word
};

void hf_realtime_join(struct hf_realtime_waiter *self, const uint32_t *word, unsigned priority)
    __attribute__((cold, visibility("hidden")));

// May be called of one that is in no list, by its thread.
void hf_realtime_leave(struct hf_realtime_waiter *self) __attribute__((cold, visibility("hidden")));

// Whether a real-time thread waits for the word, or, at times, for another one.
bool hf_realtime_waits_for(const uint32_t *word) __attribute__((cold, visibility("hidden")));

// Whether the caller, which has found the word free, is to look again before it takes it. `self` is NULL of an ordinary
// thread. `since_ns` is 0 at the first question.
bool hf_realtime_is_to_give_way(const uint32_t *word, const struct hf_realtime_waiter *self, uint64_t *since_ns)
    __attribute__((cold, visibility("hidden")));

// Before each try to take a word that `is_free` says may be taken.
static inline void hf_realtime_give_way(const uint32_t *word, bool (*is_free)(uint32_t state),
                                        const struct hf_realtime_waiter *self) {
    if (!hf_realtime_is_expected())
        return;
    uint64_t since_ns = 0;
    while (is_free(hf_load_relaxed(word)) && hf_realtime_is_to_give_way(word, self, &since_ns))
        continue;
}

#ifdef __cplusplus
}
#endif

#endif
