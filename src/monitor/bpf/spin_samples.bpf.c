// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Busy-waiting detection by sampling (docs/oversubscription.md), on any kernel: at each tick of a clock that runs while
// a program's thread runs, does it spin (wait_evidence.bpf.h) while others want its CPU? Then a signal makes it yield.
// When a thread was seen once in a loop that waits, the reader lets the fast clock run; after a signal evidence is
// gathered from the beginning.
//
// spin.D2  The signal is sent to no thread that it could kill or that could sleep over it: at this moment its handler
//     is ours and the thread does not block it. The thread is in user space, and handles it before its next
//     instruction, or the one after (the kernel sends it by an interrupt to this CPU).
// spin.D1, D3, D4: wait_evidence.bpf.h.
#include "monitor/bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

#include "hint/yield_handler.h"
#include "monitor/bpf/runnable.bpf.h"
#include "monitor/bpf/wait_evidence.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

// The sample before, on each CPU.
struct last_sample {
    struct wait_sample sample;
    uint64_t switches; // of the CPU, when it was taken
    bool signalled;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct last_sample);
} last SEC(".maps");

uint32_t suspected; // the reader has been told, and takes it back when it would hear more

static void suspect(void) {
    uint8_t says = 1;
    if (!suspected && !__sync_lock_test_and_set(&suspected, 1))
        bpf_ringbuf_output(&seen, &says, sizeof(says), 0);
}

static bool has_tag(uint64_t handler) {
    uint64_t tag = 0;
    return handler > sizeof(tag) && !bpf_probe_read_user(&tag, sizeof(tag), (const void *)(handler - sizeof(tag))) &&
           tag == HF_YIELD_HANDLER_TAG;
}

// The signal whose handler yields; 0 where there is none, or the thread does not take it now.
static uint32_t yield_signal(struct task_struct *task) {
    if (task->ptrace)
        return 0;
    const char *actions = (const char *)&task->sighand->action;
    uint64_t blocked = 0;
    bpf_probe_read_kernel(&blocked, sizeof(blocked), &task->blocked);
    for (uint32_t signal = HF_YIELD_SIGNAL_LAST; signal >= HF_YIELD_SIGNAL_FIRST; signal--) {
        const char *action = actions + (uint64_t)(signal - 1) * bpf_core_type_size(struct k_sigaction);
        uint64_t handler = 0;
        bpf_probe_read_kernel(&handler, sizeof(handler), action + bpf_core_field_offset(struct sigaction, sa_handler));
        if (has_tag(handler))
            return blocked >> (signal - 1) & 1 ? 0 : signal;
    }
    return 0;
}

static bool make_yield(struct task_struct *task) {
    uint32_t signal = yield_signal(task);
    bool sent = signal != 0 && bpf_send_signal_thread(signal) == 0;
    count_sample(sent ? HF_SPIN_YIELDS : HF_SPIN_UNREACHABLE);
    return sent;
}

SEC("perf_event")
int at_sample(struct sampled_context *sample) {
    uint32_t only = 0;
    struct last_sample *before = bpf_map_lookup_elem(&last, &only);
    struct task_struct *task = bpf_get_current_task_btf();
    if (!before || !IS_USER_CODE(sample))
        return 0;
    uint64_t now_ns = bpf_ktime_get_ns();
    if (!is_new_sample(&before->sample, now_ns))
        return 0;
    count_sample(HF_SPIN_SAMPLES);
    struct cfs_rq *queue = task->se.cfs_rq;
    if (runnable_in(queue) < 2) {
        note_uncontested(&before->sample, now_ns);
        return 0;
    }
    count_sample(HF_SPIN_CONTESTED);
    uint64_t numbers = bpf_get_current_pid_tgid(), switches = queue->rq->nr_switches;
    struct wait_sample now = {.address = SAMPLED_ADDRESS(sample),
                              .stack = SAMPLED_STACK(sample),
                              .taken_ns = now_ns,
                              .thread = (uint32_t)numbers};
    if (before->signalled && before->sample.thread == now.thread && before->switches == switches)
        count_sample(HF_SPIN_IN_VAIN);
    bool spins = is_seen_spinning(&before->sample, &now, numbers >> 32);
    before->switches = switches;
    before->signalled = false;
    if (now.waits)
        suspect();
    if (!spins)
        return 0;
    count_sample(HF_SPIN_DETECTIONS);
    before->signalled = make_yield(task);
    before->sample.waits = !before->signalled;
    return 0;
}
