// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The threads that are blocked virtually, each with its word, and those that have been woken and wait for their CPU.
//
//             asks (begin_wait)                  wake, signal, time over
//     RUNNING ------------------> BLOCKED -------------------------------> WOKEN
//        ^                     in a bucket's list                    in a CPU's list
//        +---------------------------------------------------------------+
//                       the CPU takes it (next_woken)
//
// oversub.V1  No wake is lost. A waiter joins its bucket and then reads the word; a waker changes the word and then
// looks
//     into the bucket; both change `guard` in between. So the waker finds the waiter, or the waiter the other value.
// oversub.V3  The first waiter of a word is woken first.
// oversub.V4  A thread is in one list at most: the state changes under the lock of the list that it leaves.
#ifndef HF_OVERSUB_BPF_VIRTUAL_WAITERS_BPF_H
#define HF_OVERSUB_BPF_VIRTUAL_WAITERS_BPF_H

#include "monitor/bpf/element.bpf.h"

enum {
    WAITER_BITS = 14,
    WAITERS = 1 << WAITER_BITS, // threads that can be blocked at a time; 0 is none
    BUCKET_BITS = 12,
    BUCKETS = 1 << BUCKET_BITS,
    MOST_IN_BUCKET = 128, // what a waker may have to look through with the lock held
    MOST_CPUS = 1024,
};

enum waiter_state { WAITER_RUNNING, WAITER_BLOCKED, WAITER_WOKEN };

struct waiter {
    uint64_t memory; // the process's
    uint64_t word;
    uint64_t since; // jiffies
    uint32_t kinds;
    uint32_t state;
    uint32_t held; // the kernel has given the thread to the scheduler, which keeps it off the CPU
    uint32_t guard;
    uint32_t next, previous; // in its list
    uint32_t bucket;
    uint32_t asleep_in; // a bucket, and 1: it was left to the futex there
    __s32 pid;
    __s32 cpu;
};

static struct waiter waiters[WAITERS];
static uint32_t waiters_used = 1; // numbers below have been given to threads

// Numbers of threads that are gone.
struct {
    __uint(type, BPF_MAP_TYPE_QUEUE);
    __uint(max_entries, WAITERS);
    __uint(value_size, sizeof(uint32_t));
} free_waiters SEC(".maps");

struct waiter_list {
    struct bpf_spin_lock lock;
    uint32_t first, last;
    uint32_t count;
    uint32_t asleep; // of a bucket: waiters that were left to the futex
    uint32_t guard;
    uint32_t reserved[2];
    uint64_t dispatched; // of a CPU: when it last chose a thread; jiffies
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, BUCKETS);
    __type(key, uint32_t);
    __type(value, struct waiter_list);
} buckets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MOST_CPUS);
    __type(key, uint32_t);
    __type(value, struct waiter_list);
} woken SEC(".maps");

static __always_inline struct waiter *waiter_at(uint32_t number) {
    return element(waiters, number);
}

static uint32_t bucket_of(uint64_t memory, uint64_t word) {
    return (uint32_t)(((memory ^ word) * 0x9e3779b97f4a7c15ull) >> (64 - BUCKET_BITS));
}

static struct waiter_list *bucket_at(uint32_t bucket) {
    return bpf_map_lookup_elem(&buckets, &bucket);
}

static struct waiter_list *woken_at(__s32 cpu) {
    uint32_t key = (uint32_t)cpu;
    return bpf_map_lookup_elem(&woken, &key);
}

static bool is_wanted_by_others(__s32 cpu) {
    struct waiter_list *list = woken_at(cpu);
    return scx_bpf_dsq_nr_queued((uint64_t)cpu) > 0 || (list && list->first);
}

// With the list's lock held.
static __always_inline void append(struct waiter_list *list, uint32_t number, enum waiter_state state) {
    struct waiter *waiter = waiter_at(number);
    waiter->next = 0;
    waiter->previous = list->last;
    if (list->last)
        waiter_at(list->last)->next = number;
    else
        list->first = number;
    list->last = number;
    list->count++;
    waiter->state = state;
}

static __always_inline void take_out(struct waiter_list *list, uint32_t number, enum waiter_state state) {
    struct waiter *waiter = waiter_at(number);
    if (waiter->previous)
        waiter_at(waiter->previous)->next = waiter->next;
    else
        list->first = waiter->next;
    if (waiter->next)
        waiter_at(waiter->next)->previous = waiter->previous;
    else
        list->last = waiter->previous;
    list->count--;
    waiter->state = state;
}

static __always_inline uint32_t find_waiter(struct waiter_list *bucket, uint64_t memory, uint64_t word,
                                            uint32_t kinds) {
    uint32_t number = bucket->first;
    for (int i = 0; i < MOST_IN_BUCKET && number; i++) {
        struct waiter *waiter = waiter_at(number);
        if (waiter->memory == memory && waiter->word == word && (waiter->kinds & kinds))
            return number;
        number = waiter->next;
    }
    return 0;
}

// The CPU that the waiter is on is to choose it: at once if it has nothing to do, or if the thread that it runs has had
// its turn; else at the next tick at the latest.
static void hand_to_cpu(uint32_t number) {
    enum { TURN_JIFFIES = 1 };
    struct waiter *waiter = waiter_at(number);
    __s32 cpu = waiter->cpu;
    struct waiter_list *list = woken_at(cpu);
    if (!list)
        return;
    bpf_spin_lock(&list->lock);
    append(list, number, WAITER_WOKEN);
    bpf_spin_unlock(&list->lock);
    bool had_turn = (__s64)(bpf_jiffies64() - list->dispatched) > TURN_JIFFIES;
    bool is_here = cpu == (__s32)bpf_get_smp_processor_id() && bpf_get_current_task_btf()->pid != 0;
    if (had_turn)
        scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
    else if (!is_here)
        scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

// Wakes the first such waiter of the word. False: there is none.
static bool wake_first(struct waiter_list *bucket, uint64_t memory, uint64_t word, uint32_t kinds) {
    bpf_spin_lock(&bucket->lock);
    uint32_t number = find_waiter(bucket, memory, word, kinds);
    if (number)
        take_out(bucket, number, WAITER_WOKEN);
    bpf_spin_unlock(&bucket->lock);
    if (number)
        hand_to_cpu(number);
    return number != 0;
}

// Ends a wait that nobody has ended yet. False: somebody has.
static bool end_wait(uint32_t number, enum waiter_state then) {
    struct waiter *waiter = waiter_at(number);
    uint32_t where = waiter->bucket;
    struct waiter_list *bucket = bucket_at(where);
    if (!bucket)
        return false;
    bpf_spin_lock(&bucket->lock);
    bool was_blocked = waiter->state == WAITER_BLOCKED && waiter->bucket == where; // another wait's bucket is another
    if (was_blocked)
        take_out(bucket, number, then);
    bpf_spin_unlock(&bucket->lock);
    return was_blocked;
}

// The first that a CPU has to take; 0: none.
static uint32_t next_woken(struct waiter_list *list) {
    bpf_spin_lock(&list->lock);
    uint32_t number = list->first;
    if (number)
        take_out(list, number, WAITER_RUNNING);
    bpf_spin_unlock(&list->lock);
    return number;
}

#endif
