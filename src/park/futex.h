// SPDX-License-Identifier: MIT OR Apache-2.0
// Sleeping on a word until somebody wakes it: the futex system call, with errno left as it was.
#ifndef HF_PARK_FUTEX_H
#define HF_PARK_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_deadline; // park/deadline.h

// Sleeps while *word is `expected`, until woken or until the deadline (NULL: none).
// Returns 0 (woken, or the word was another; both may be spurious), ETIMEDOUT (then nobody has woken it), or EINTR.
// Wakers and sleepers must be threads of one process.
int hf_futex_wait(const uint32_t *word, uint32_t expected, const struct hf_deadline *deadline);

// Wakes at most `count` sleepers. The word's memory may already be gone: then nothing happens.
void hf_futex_wake(const uint32_t *word, int count);

// The same for sleepers of several kinds on one word: each says with one bit of `kind` who it is, and a wake of some
// kinds chooses among those. The two functions above sleep as, and wake, all kinds.
int hf_futex_wait_as(const uint32_t *word, uint32_t expected, const struct hf_deadline *deadline, uint32_t kind);
void hf_futex_wake_kind(const uint32_t *word, int count, uint32_t kind);

// Whether the word's memory can still be read.
bool hf_futex_is_there(const uint32_t *word);

// Makes a sleeper on `from`, if there is one, a sleeper on `to`, without waking it. The memory of `from` may already be
// gone. False: nobody was moved: there was no sleeper, it waits virtually (virtual_wait.h), or the kernel refuses.
bool hf_futex_move(const uint32_t *from, const uint32_t *to);

#ifdef __cplusplus
}
#endif

#endif
