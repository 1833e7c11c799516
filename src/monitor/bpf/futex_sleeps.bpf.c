// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which processes sleep in futexes, how often and for how long, whatever locks they use: for `holdfast top`, and loaded
// only while that runs.
//
//              switched out of its own accord, in a futex call that waits
//     awake ----------------------------------------------------------------> asleep (has a mark with time and word)
//       ^                                                                       |
//       +-----------------------------------------------------------------------+
//               switched in: the sleep is counted, with the time it took to get the CPU back
//
// At the scheduler's switch and not at system calls: a hook there would slow down every system call of the machine, and
// a call that finds its word changed does not sleep. Where a kernel hides a switch (preemption_monitor.bpf.c), that
// sleep is not counted: the next one overwrites its mark.
#include "monitor/bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "monitor/bpf/element.bpf.h"
#include "monitor/bpf/futex_wait_totals.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct sleep_mark {
    struct hf_futex_key key;
    uint64_t since_ns; // 0: awake
    bool for_lock;
};

// On a thread.
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct sleep_mark);
} marks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, HF_FUTEX_KEYS);
    __type(key, struct hf_futex_key);
    __type(value, struct hf_futex_totals);
} totals SEC(".maps");

// The pid namespace that the loader lives in, when it is not the first one: processes outside of it are not seen.
const volatile uint64_t namespace_device = 0;
const volatile uint64_t namespace_inode = 0;

// Does the tracepoint tell how a thread left? Linux 5.18.
const volatile bool is_told_state = true;

// Sleeps that found no room in the map.
uint64_t uncounted_total;

enum { TASK_INTERRUPTIBLE = 1 };

// A system call that has the same number everywhere, and the commands of futex(2) that wait.
enum { NR_FUTEX_WAIT = 455 };
enum { WAIT = 0, LOCK_PI = 6, WAIT_BITSET = 9, WAIT_REQUEUE_PI = 11, LOCK_PI2 = 13, COMMAND_MASK = 0x7f };
enum { EXPECTED_BY_LOCKS = 2 };

// Its number in the loader's namespace, or 0.
static uint32_t pid_of_current(void) {
    if (namespace_inode == 0)
        return bpf_get_current_pid_tgid() >> 32;
    struct bpf_pidns_info numbers = {};
    if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &numbers, sizeof(numbers)))
        return 0;
    return numbers.tgid;
}

// Does the current thread sleep in a futex call? Fills word and kind of the mark.
static bool sleeps_in_futex(struct task_struct *task, struct sleep_mark *mark) {
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    uint64_t number = SYSTEM_CALL_OF(registers);
    if (number != NR_FUTEX && number != NR_FUTEX_WAIT)
        return false;
    mark->key.address = FIRST_ARGUMENT_OF(registers);
    uint64_t second = SECOND_ARGUMENT_OF(registers);
    if (number == NR_FUTEX_WAIT) {
        mark->for_lock = (uint32_t)second == EXPECTED_BY_LOCKS;
        return true;
    }
    uint32_t command = second & COMMAND_MASK;
    uint32_t expected = THIRD_ARGUMENT_OF(registers);
    bool inherits = command == LOCK_PI || command == LOCK_PI2;
    bool waits = command == WAIT || command == WAIT_BITSET;
    mark->for_lock = inherits || (waits && expected == EXPECTED_BY_LOCKS);
    return inherits || waits || command == WAIT_REQUEUE_PI;
}

static void note_sleep(struct task_struct *task) {
    struct sleep_mark found = {};
    if (!sleeps_in_futex(task, &found))
        return;
    found.key.pid = pid_of_current();
    found.key.started_ns = BPF_CORE_READ(task, group_leader, start_boottime);
    if (found.key.pid == 0)
        return;
    struct sleep_mark *mark = bpf_task_storage_get(&marks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!mark) {
        __sync_fetch_and_add(&uncounted_total, 1);
        return;
    }
    found.since_ns = bpf_ktime_get_ns();
    *mark = found;
}

// The number of the highest bit.
static uint32_t bucket_of(uint64_t value) {
    uint32_t bucket = 0;
    for (uint32_t step = 32; step; step /= 2) {
        if (value >> step) {
            value >>= step;
            bucket += step;
        }
    }
    return bucket;
}

static void count_sleep(const struct hf_futex_key *key, uint64_t took_ns, bool for_lock) {
    struct hf_futex_totals *sum = bpf_map_lookup_elem(&totals, key);
    if (!sum) {
        static const struct hf_futex_totals none;
        bpf_map_update_elem(&totals, key, &none, BPF_NOEXIST);
        sum = bpf_map_lookup_elem(&totals, key);
    }
    if (!sum) {
        __sync_fetch_and_add(&uncounted_total, 1);
        return;
    }
    __sync_fetch_and_add(&sum->sleeps, 1);
    if (!for_lock)
        return;
    __sync_fetch_and_add(&sum->lock_waits, 1);
    __sync_fetch_and_add(&sum->lock_waited_ns, took_ns);
    if (took_ns > sum->longest_ns) // of two that end at once one may be lost
        sum->longest_ns = took_ns;
    __sync_fetch_and_add(element(sum->bucket, bucket_of(took_ns)), 1);
}

static void count_end_of_sleep(struct task_struct *task) {
    struct sleep_mark *mark = bpf_task_storage_get(&marks, task, 0, 0);
    if (!mark || mark->since_ns == 0)
        return;
    uint64_t took_ns = bpf_ktime_get_ns() - mark->since_ns;
    mark->since_ns = 0;
    struct hf_futex_key key = mark->key;
    count_sleep(&key, took_ns, mark->for_lock);
    key.address = 0;
    count_sleep(&key, took_ns, mark->for_lock);
}

static uint32_t state_of(unsigned long long *context, struct task_struct *prev) {
    if (is_told_state)
        return context[3];
    return bpf_core_field_exists(prev->__state) ? prev->__state : 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(at_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
    if (!preempt && state_of(ctx, prev) & TASK_INTERRUPTIBLE)
        note_sleep(prev);
    if (next->bpf_storage)
        count_end_of_sleep(next);
    return 0;
}
