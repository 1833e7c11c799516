// SPDX-License-Identifier: MIT OR Apache-2.0
// Where a thread that waits for a condition variable says for which: read from copies of its stack by what shows where
// threads wait (cli/waits), since each sleeps at a word of its own.
#ifndef HF_LOCK_POSIX_WAITER_PLACES_H
#define HF_LOCK_POSIX_WAITER_PLACES_H

// Bytes from the pointer to the condition variable to the word that is slept at, in struct hf_waiter.
enum { HF_CONDITION_BEFORE_PERMIT = 40 };

#endif
