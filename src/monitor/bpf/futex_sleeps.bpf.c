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
//
// Sleeps that have not ended are found by a walk over all threads, those included that are older than this program.
#include "monitor/bpf/element.bpf.h"
#include "monitor/bpf/futex_call.bpf.h"
#include "monitor/bpf/futex_wait_totals.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct sleep_mark {
    struct hf_futex_key key;
    uint64_t since_ns; // 0: awake
    uint32_t look;
};

// On a thread.
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct sleep_mark);
} marks SEC(".maps");

// 6 MB, allocated before: at a switch the kernel has room for a few at a time only, and the first ones are lost.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, HF_FUTEX_KEYS);
    __type(key, struct hf_futex_key);
    __type(value, struct hf_futex_totals);
} totals SEC(".maps");

// Sleeps that found no room in the map.
uint64_t uncounted_total;

static void note_sleep(struct task_struct *task) {
    struct futex_wait wait = {};
    if (!sleeps_in_futex(task, &wait))
        return;
    struct sleep_mark found = {.key = {.address = wait.address}, .look = wait.look};
    struct bpf_pidns_info numbers = {};
    numbers_of_current(&numbers);
    found.key.pid = numbers.tgid;
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

static void count_sleep(const struct hf_futex_key *key, uint64_t took_ns, uint32_t look) {
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
    if ((look & HF_FUTEX_OF_LOCK) == 0)
        return;
    __sync_fetch_and_add(&sum->lock_waits, 1);
    __sync_fetch_and_add(&sum->lock_waited_ns, took_ns);
    if (look & HF_FUTEX_IS_TWO)
        __sync_fetch_and_add(&sum->twos, 1);
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
    count_sleep(&key, took_ns, mark->look);
    key.address = 0;
    count_sleep(&key, took_ns, mark->look);
}

// Of a sleep that nobody has seen begin: it counts from now on. A thread that comes back between our look at its state
// and the mark would have a mark while it is awake: hence the second look.
static bool mark_old_sleep(struct task_struct *task, const struct futex_wait *wait, struct sleep_mark *mark) {
    if (namespace_inode != 0) // its number there is not known
        return false;
    mark->key.pid = task->tgid;
    mark->key.address = wait->address;
    mark->key.started_ns = BPF_CORE_READ(task, group_leader, start_boottime);
    mark->look = wait->look;
    mark->since_ns = bpf_ktime_get_ns();
    if (is_asleep(task))
        return true;
    mark->since_ns = 0;
    return false;
}

SEC("iter/task")
int sleepers(struct bpf_iter__task *at) {
    struct task_struct *task = at->task;
    struct futex_wait wait = {};
    if (!task || !task->mm || !is_asleep(task) || !sleeps_in_futex(task, &wait) || !wait.for_lock)
        return 0;
    struct sleep_mark *mark = bpf_task_storage_get(&marks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!mark)
        return 0;
    bool is_known = mark->since_ns != 0 && mark->key.address == wait.address;
    if (!is_known && !mark_old_sleep(task, &wait, mark))
        return 0;
    struct hf_futex_sleeper found = {.key = mark->key, .since_ns = mark->since_ns, .look = mark->look};
    if (found.since_ns != 0) // it may have come back
        bpf_seq_write(at->meta->seq, &found, sizeof(found));
    return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(at_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
    if (!preempt && state_of(ctx, prev) & TASK_INTERRUPTIBLE)
        note_sleep(prev);
    if (next->bpf_storage)
        count_end_of_sleep(next);
    return 0;
}
