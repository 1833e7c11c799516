// SPDX-License-Identifier: MIT OR Apache-2.0
// For how long each thread has held which locks, in the memory that others read (statistics_memory.h). From this comes
// a thread's opportunity to use a lock (docs/top.md).
//
//               the thread notes its first hold, and finds the row free
//     FREE (0) ---------------------------------------------------------> BEING_CLEARED ----> its tid
//        ^                                                                                       |
//        +------------------------------- the thread exits ------------------------------------+
//
// notes.N4  A row has one writer: the thread that took it, until it exits. A thread that takes another's
//     row clears it before its own number stands there, so that a reader takes nothing for one thread's that was
//     another's.
// notes.N5  A hold's ticks only grow as long as the same lock stands beside them. A lock that finds no room takes that
//     of the one held least; the address is 0 meanwhile.
// notes.O1 holds (observation.h). A signal handler that interrupts its own thread in here may spoil one row's figures.
#ifndef HF_OBSERVE_THREAD_HOLDS_H
#define HF_OBSERVE_THREAD_HOLDS_H

#include "observe/statistics_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_hold_source {
    HF_HOLD_ESTIMATED, // from acquisitions that were noted, each for as many as it stands for
    HF_HOLD_COUNTED,   // all of them, from the lock's own accounts: once there are such, estimates are left out
};

// The caller has held the lock for so long. Returns false when there is no row for it.
bool hf_thread_holds_add(struct hf_thread_record *self, uint64_t lock, uint64_t ticks, enum hf_hold_source source)
    __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
