// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/current_cpu.h"

#include <stddef.h>
#include <sys/rseq.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/system_call.h"

// glibc registers an rseq area for every thread since 2.35; the symbols are weak for older ones.
extern const unsigned int __rseq_size __attribute__((weak));
extern const ptrdiff_t __rseq_offset __attribute__((weak));

unsigned hf_current_cpu(void) {
    if (HF_LIKELY(&__rseq_size != NULL && __rseq_size != 0)) {
        const struct rseq *area = (const struct rseq *)(hf_thread_pointer() + __rseq_offset);
        return hf_load_relaxed(&area->cpu_id);
    }
    unsigned cpu = 0;
    hf_sys_getcpu(&cpu);
    return cpu;
}
