// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Keeps, for the monitor's program, which locks' holders were away from the CPU, how often and for how long.
//
//                    leaves the CPU holding a lock: named, departures + 1
//     not named ----------------------------------------------------------> named
//          ^                                                                  |
//          +------------------------------------------------------------------+
//                    switched in, or its mark taken away: time added
//
// Costs nothing to a thread that holds no lock. Statistics only: the counts that locks ask do not depend on it, and
// what can't be kept (for want of memory, or because another CPU is at the same place) is left out.
#ifndef HF_MONITOR_BPF_HOLDER_PREEMPTIONS_BPF_H
#define HF_MONITOR_BPF_HOLDER_PREEMPTIONS_BPF_H

#include "hint/holder_preemptions.h"
#include "monitor/bpf/monitor_parts.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, HF_ABSENCE_LOCKS);
    __type(key, struct hf_absence_key);
    __type(value, struct hf_holder_absences);
} absences SEC(".maps");

// One absence, in the mark of the thread that is away.
struct absence {
    struct hf_absence_key key; // lock 0: not named
    uint64_t since_ns;
    bool could_go_on;
};

static struct hf_holder_absences *absences_of(const struct hf_absence_key *key) {
    static const struct hf_holder_absences none;
    struct hf_holder_absences *known = bpf_map_lookup_elem(&absences, key);
    if (known)
        return known;
    bpf_map_update_elem(&absences, key, &none, BPF_NOEXIST);
    return bpf_map_lookup_elem(&absences, key);
}

// The thread that leaves is still the current one: `context` is the tracepoint's.
static void keep_stack(void *context, struct hf_holder_absences *lock, uint64_t now_ns) {
    if (lock->stack_ns && now_ns - lock->stack_ns < HF_HOLDER_STACKS_APART_NS)
        return;
    if (__sync_val_compare_and_swap(&lock->stack_is_taken, 0, 1) != 0)
        return;
    long bytes = bpf_get_stack(context, lock->stack, sizeof(lock->stack), BPF_F_USER_STACK);
    if (bytes > 0)
        lock->stack_ns = now_ns;
    lock->stack_is_taken = 0;
}

static void holder_leaves(void *context, struct absence *absence, uint64_t followed_since_ns, uint64_t lock,
                          bool could_go_on) {
    absence->key.followed_since_ns = followed_since_ns;
    absence->key.lock = lock;
    absence->since_ns = bpf_ktime_get_ns();
    absence->could_go_on = could_go_on;
    struct hf_holder_absences *kept = lock ? absences_of(&absence->key) : 0;
    if (!kept)
        return;
    __sync_fetch_and_add(could_go_on ? &kept->preemptions : &kept->sleeps, 1);
    if (could_go_on && has(HF_PART_STACKS))
        keep_stack(context, kept, absence->since_ns);
}

static void holder_returns(struct absence *absence, uint32_t thread) {
    struct hf_holder_absences *kept = absence->key.lock ? bpf_map_lookup_elem(&absences, &absence->key) : 0;
    absence->key.lock = 0;
    if (!kept)
        return;
    uint64_t away_ns = bpf_ktime_get_ns() - absence->since_ns;
    __sync_fetch_and_add(absence->could_go_on ? &kept->preempted_ns : &kept->asleep_ns, away_ns);
    if (absence->could_go_on && away_ns > kept->longest_ns) {
        kept->longest_ns = away_ns;
        kept->longest_thread = thread;
    }
}

#endif
