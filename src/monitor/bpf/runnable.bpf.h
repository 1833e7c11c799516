// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How many threads want a CPU.
#ifndef HF_MONITOR_BPF_RUNNABLE_BPF_H
#define HF_MONITOR_BPF_RUNNABLE_BPF_H

// Threads that want the CPU of that queue, where one of them runs or is about to.
static uint32_t runnable_in(struct cfs_rq *queue_of_next) {
    struct rq *queue = queue_of_next->rq;
    uint32_t runnable = queue->nr_running;
    if (bpf_core_field_exists(queue->cfs.h_nr_runnable)) {
        uint32_t queued = queue->cfs.h_nr_queued;
        uint32_t awake = queue->cfs.h_nr_runnable;
        if (queued > awake && runnable > queued - awake)
            runnable -= queued - awake;
    }
    return runnable;
}

#endif
