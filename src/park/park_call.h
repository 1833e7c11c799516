// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// How a waiter asks the oversubscription scheduler to be blocked virtually: it calls sched_yield(2), which takes no
// arguments, with these in the registers of the first four. Without the scheduler it is a sched_yield.
//
//     first     the word's address; 0: the thread waits for nothing, and tells only where its record is
//     second    the word's value for which to wait, and in the upper half which kinds of wakes are meant, as in
//               FUTEX_WAIT_BITSET
//     third     HF_PARK_MAGIC
//     fourth    where a pointer to the thread's record (thread/thread_record.h) lies, from the thread pointer on: the
//               scheduler gives a thread that holds a lock a little more time; 0: it is not told
//
// A call that returns says nothing: the waiter looks at the word. While that has the value, it sleeps by futex(2).
#ifndef HF_PARK_PARK_CALL_H
#define HF_PARK_PARK_CALL_H

#define HF_PARK_MAGIC 0x9d3c07e5a461b82full

#endif
