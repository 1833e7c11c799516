// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What samples of a thread say of whether it spins: was it where it was a tick before, in a loop that only waits? What
// a loop does is for the reader in user space to tell (monitor/wait_loop_reader.hpp), once for each instruction that is
// met: here are only its answers. The includer takes the samples, on a clock of its own, and does something about a
// thread that spins: a signal (spin_samples.bpf.c), or the end of its turn (oversub/bpf/spinner_watch.bpf.h).
//
//              wanted by others               in a loop that waits       in it again, same stack pointer
//     any sample ----------> code is looked up ----------------> seen once ----------------> spins
//                              | unknown
//                              +-----> to the reader, if the sample before was near it
//
// spin.D1  A thread that has its CPU to itself is never found: somebody else wants the CPU at both samples.
// spin.D3  An answer holds for the bytes that it was given for: code that was replaced is asked for anew.
// spin.D4  Two samples in a row are half a fast tick to five ticks apart: not the two clocks' of one moment, and not
//     the slow one's, between which a thread may have taken its lock and gone on many times.
#ifndef HF_MONITOR_BPF_WAIT_EVIDENCE_BPF_H
#define HF_MONITOR_BPF_WAIT_EVIDENCE_BPF_H

#include "monitor/bpf/element.bpf.h"
#include "monitor/bpf/wait_evidence.h"

enum { PLACES = 16384, SEEN_BYTES = 64 * 1024, NEAR_BYTES = HF_CODE_BEFORE };

// The sample before: of a CPU's clock, or of a thread's.
struct wait_sample {
    uint64_t address, stack;
    uint64_t taken_ns;
    uint32_t thread; // 0: none that could be of use
    bool waits;      // it was in a loop that waits
};

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

static void count_sample(enum hf_spin_count what) {
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

static bool is_near(uint64_t address, uint64_t other) {
    return address - other + NEAR_BYTES < 2 * NEAR_BYTES;
}

// Is the thread in a loop that waits, as far as is known?
static bool waits_at(uint64_t address, uint32_t process, uint64_t address_before) {
    struct hf_code_place place = {.address = address, .process = process};
    uint64_t first_bytes = 0;
    if (bpf_probe_read_user(&first_bytes, sizeof(first_bytes), (const void *)address))
        return false;
    struct hf_code_known *answer = bpf_map_lookup_elem(&known, &place);
    if (answer && answer->first_bytes == first_bytes)
        return answer->waits;
    if (is_near(address, address_before))
        ask_reader(&place, first_bytes);
    return false;
}

// False: it is one moment's second sample, and of no use.
static bool is_new_sample(const struct wait_sample *before, uint64_t now_ns) {
    return now_ns - before->taken_ns >= HF_FAST_TICK_NS / 2;
}

// Of a thread that has its CPU to itself.
static void note_uncontested(struct wait_sample *before, uint64_t now_ns) {
    before->taken_ns = now_ns;
    before->thread = 0;
}

// Whether the thread is seen to spin, by this sample and the one before, whose place this one takes.
static bool is_seen_spinning(struct wait_sample *before, struct wait_sample *now, uint32_t process) {
    now->waits = waits_at(now->address, process, before->address);
    bool in_a_row = now->taken_ns - before->taken_ns < 5 * HF_FAST_TICK_NS;
    bool is_same = before->thread == now->thread && before->stack == now->stack;
    bool spins = now->waits && before->waits && is_same && in_a_row && is_near(now->address, before->address);
    *before = *now;
    return spins;
}

#endif
