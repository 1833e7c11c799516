// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/wait/turn.h"

#include "base/clock.h"
#include "base/cpu_count.h"
#include "lock/wait/pace.h"
#include "observe/counted_steps.h"
#include "park/yield.h"
#include "thread/realtime.h"

static uint64_t turn_ended_ns; // 0: none has

enum hf_cpu_contention hf_cpu_wanted_by(uint64_t now_ns) {
    return hf_load_relaxed(&hf_threads_with_records) > hf_cpus_usable() ? HF_CPU_OWN : hf_cpu_contention(now_ns);
}

bool hf_turns_end(uint64_t now_ns) {
    uint64_t ended_ns = hf_load_relaxed(&turn_ended_ns);
    return ended_ns != 0 && hf_ns_since(ended_ns, now_ns) < HF_RATE_WINDOW_NS;
}

static bool holds_nothing(const struct hf_thread_record *self) {
    return self->critical.critical_depth == 0 && hf_load_relaxed(&self->critical.queue_state) == HF_QUEUE_IDLE;
}

void hf_turn_look(struct hf_thread_record *self) {
    if (!holds_nothing(self)) {
        hf_look_up_soon(self);
        return;
    }
    // No turn ends any more, and a clock is not to be read in vain: seccomp's strict mode kills for that, too.
    if (hf_yield_is_forgone())
        return;
    uint64_t now_ns = hf_monotonic_ns();
    if (hf_load_relaxed(&self->works)) {
        hf_store_relaxed(&self->works, 0);
        hf_turn_begin(&self->turn, now_ns);
        return;
    }
    if (!hf_turn_ends(&self->turn, now_ns))
        return;
    uint64_t since_ns = now_ns;
    if (hf_cpu_wanted_by(now_ns) == HF_CPU_OWN && hf_realtime_priority() == 0) {
        hf_count_step(HF_COUNTED_TURN_ENDED);
        hf_store_relaxed(&turn_ended_ns, now_ns);
        hf_yield();
        now_ns = hf_monotonic_ns();
        hf_pace_begin(self, now_ns); // it has not worked meanwhile
    }
    hf_turn_begin_after_yield(&self->turn, since_ns, now_ns);
}
