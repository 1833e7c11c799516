// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What runs at each tick of the clock of busy-waiting detection. A clock is inherited with the program that is set at
// it, so one has to be there before the threads are; the one that finds spinners (spin_samples.bpf.c) takes 25 ms of
// CPU time to be loaded. So this one counts ticks, and goes on to that one as soon as it is there.
#include "monitor/bpf/kernel_types.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
    __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, uint32_t);
} detector SEC(".maps");

uint64_t ticks; // of the slow clock: before there is a detector there is no other

SEC("perf_event")
int at_tick(struct sampled_context *sample) {
    __sync_fetch_and_add(&ticks, 1);
    bpf_tail_call(sample, &detector, 0);
    return 0;
}
