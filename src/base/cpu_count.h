// SPDX-License-Identifier: MIT OR Apache-2.0
// How many CPUs the process has. A thread may be pinned to fewer than others, and a cpuset may change at any time: so
// what counts are the CPUs of all threads together that have asked lately.
//
//     in each second   a thread's first question adds the CPUs that it may use now: the kernel is asked once
//     at its end       those that were added are the process's; new ones count at once
//
// Threads that ask seldom, and then wait in vain, lose little.
#ifndef HF_BASE_CPU_COUNT_H
#define HF_BASE_CPU_COUNT_H

#ifdef __cplusplus
extern "C" {
#endif

// At least 1. Costs two loads but for the first call of a second. For threads that may wait, and for those that end a
// wait: one that never waits has its CPUs counted, too.
unsigned hf_cpus_usable(void);

// The kernel isn't asked any more: what is to come may not survive that. The number stays.
void hf_cpus_forgo(void);

#ifdef __cplusplus
}
#endif

#endif
