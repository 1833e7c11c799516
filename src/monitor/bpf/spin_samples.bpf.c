// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Busy-waiting detection by sampling (docs/oversubscription.md): at each tick of a clock that runs while a program's
// thread runs, is that thread where it was at the tick before, in a loop that only waits, and does another
// thread want its CPU? Then a signal makes it yield. What a loop does is for the reader to tell
// (monitor/wait_loop.hpp), once for each instruction that is met: here are only its answers.
//
//              wanted by others               in a loop that waits       in it again, same stack pointer
//     any sample ----------> code is looked up ----------------> seen once ----------------> signal, from the beginning
//                              | unknown                            | at the slow clock's tick
//                              |                                    +-----> the reader lets the fast clock run
//                              +-----> to the reader, if the sample before was near it
//
// spin.D1  A thread that has its CPU to itself is never signalled: nobody else is queued there at either sample.
// spin.D2  The signal is sent to no thread that it could kill or that could sleep over it: at this moment its handler
//     is ours and the thread does not block it. The thread is in user space, and handles it before its next
//     instruction, or the one after (the kernel sends it by an interrupt to this CPU).
// spin.D3  An answer holds for the bytes that it was given for: code that was replaced is asked for anew.
// spin.D4  Two samples in a row are half a fast tick to five ticks apart: not the two clocks' of one moment, and not
//     the slow one's, between which a thread may have taken its lock and gone on many times.
#include "monitor/bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

#include "hint/yield_handler.h"
#include "monitor/bpf/element.bpf.h"
#include "monitor/bpf/runnable.bpf.h"
#include "monitor/bpf/spin_samples.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { PLACES = 16384, SEEN_BYTES = 64 * 1024, NEAR_BYTES = HF_CODE_BEFORE };

// The sample before, on each CPU.
struct last_sample {
    uint64_t address, stack;
    uint64_t taken_ns;
    uint64_t switches; // of the CPU, when it was taken
    uint32_t thread;   // 0: none that could be of use
    uint8_t waits;     // it was in a loop that waits
    uint8_t signalled;
    uint8_t reserved[2];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct last_sample);
} last SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, PLACES);
    __type(key, struct hf_code_place);
    __type(value, struct hf_code_known);
} known SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, SEEN_BYTES);
} seen SEC(".maps");

uint64_t counts[HF_SPIN_COUNTS];
uint32_t suspected; // the reader has been told, and takes it back when it would hear more

static void count(enum hf_spin_count what) {
    __sync_fetch_and_add(element(counts, what), 1);
}

static void ask_reader(const struct hf_code_place *place, uint64_t first_bytes) {
    struct hf_code_seen *asked = bpf_ringbuf_reserve(&seen, sizeof(*asked), 0);
    if (!asked)
        return;
    asked->place = *place;
    // What the last page before a hole can't give is 0, which is no loop's instruction.
    if (bpf_probe_read_user(asked->code, HF_CODE_BYTES, (const void *)(place->address - HF_CODE_BEFORE)) &&
        bpf_probe_read_user(asked->code + HF_CODE_BEFORE, HF_CODE_BYTES - HF_CODE_BEFORE,
                            (const void *)place->address)) {
        bpf_ringbuf_discard(asked, 0);
        return;
    }
    struct hf_code_known answer_to_come = {.first_bytes = first_bytes};
    bpf_map_update_elem(&known, place, &answer_to_come, 0);
    bpf_ringbuf_submit(asked, 0);
}

static void suspect(void) {
    uint8_t says = 1;
    if (!suspected && !__sync_lock_test_and_set(&suspected, 1))
        bpf_ringbuf_output(&seen, &says, sizeof(says), 0);
}

static bool is_near(uint64_t address, uint64_t other) {
    return address - other + NEAR_BYTES < 2 * NEAR_BYTES;
}

// Is the thread in a loop that waits, as far as is known?
static bool waits_at(uint64_t address, uint32_t process, const struct last_sample *before) {
    struct hf_code_place place = {.address = address, .process = process};
    uint64_t first_bytes = 0;
    if (bpf_probe_read_user(&first_bytes, sizeof(first_bytes), (const void *)address))
        return false;
    struct hf_code_known *answer = bpf_map_lookup_elem(&known, &place);
    if (answer && answer->first_bytes == first_bytes)
        return answer->waits;
    if (is_near(address, before->address))
        ask_reader(&place, first_bytes);
    return false;
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
    count(sent ? HF_SPIN_YIELDS : HF_SPIN_UNREACHABLE);
    return sent;
}

SEC("perf_event")
int at_sample(struct sampled_context *sample) {
    uint32_t only = 0;
    struct last_sample *before = bpf_map_lookup_elem(&last, &only);
    struct task_struct *task = bpf_get_current_task_btf();
    if (!before || !IS_USER_CODE(sample))
        return 0;
    uint64_t now = bpf_ktime_get_ns(), passed = now - before->taken_ns;
    if (passed < HF_FAST_TICK_NS / 2)
        return 0;
    before->taken_ns = now;
    count(HF_SPIN_SAMPLES);
    struct cfs_rq *queue = task->se.cfs_rq;
    if (runnable_in(queue) < 2) {
        before->thread = 0;
        return 0;
    }
    count(HF_SPIN_CONTESTED);
    uint64_t numbers = bpf_get_current_pid_tgid(), address = SAMPLED_ADDRESS(sample), stack = SAMPLED_STACK(sample);
    uint32_t thread = numbers;
    uint64_t switches = queue->rq->nr_switches;
    bool is_same = before->thread == thread && before->stack == stack && is_near(address, before->address);
    bool in_a_row = passed < 5 * HF_FAST_TICK_NS;
    if (before->signalled && before->thread == thread && before->switches == switches)
        count(HF_SPIN_IN_VAIN);
    bool waits = waits_at(address, numbers >> 32, before);
    bool signalled = false;
    if (waits)
        suspect();
    if (waits && is_same && in_a_row && before->waits) {
        count(HF_SPIN_DETECTIONS);
        signalled = make_yield(task);
    }
    before->address = address;
    before->stack = stack;
    before->switches = switches;
    before->thread = thread;
    before->waits = waits && !signalled;
    before->signalled = signalled;
    return 0;
}
