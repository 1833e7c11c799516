// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/current_cpu.h"

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/rseq_area.h"
#include "base/system_call.h"

static __attribute__((noinline)) unsigned cpu_not_in_glibcs_area(void) {
    const struct hf_rseq_area *area = hf_own_rseq_area();
    uint32_t cpu = area ? hf_load_relaxed(&area->cpu_id) : HF_RSEQ_NO_CPU;
    if (cpu >= HF_RSEQ_NO_CPU)
        hf_sys_getcpu(&cpu);
    return cpu;
}

unsigned hf_current_cpu(void) {
    const struct hf_rseq_area *area = hf_rseq_area_of_glibc();
    uint32_t cpu = HF_LIKELY(area != NULL) ? hf_load_relaxed(&area->cpu_id) : HF_RSEQ_NO_CPU;
    return HF_LIKELY(cpu < HF_RSEQ_NO_CPU) ? cpu : cpu_not_in_glibcs_area();
}
