// SPDX-License-Identifier: MIT OR Apache-2.0
#include "thread/realtime.h"

#include <sched.h>

#include "base/system_call.h"

enum { HF_PRIORITY_OF_DEADLINE = 100 }; // SCHED_DEADLINE comes before all of SCHED_FIFO and SCHED_RR

uint32_t hf_realtime_state;

// As of the last time that the kernel was asked.
static __thread unsigned remembered __attribute__((tls_model("initial-exec")));

bool hf_realtime_is_policy(int policy) {
    int bare = policy & ~SCHED_RESET_ON_FORK;
    return bare == SCHED_FIFO || bare == SCHED_RR || bare == HF_SCHED_DEADLINE;
}

void hf_realtime_expect(void) {
    hf_cas_relaxed(&hf_realtime_state, (uint32_t)HF_REALTIME_NOT_EXPECTED, HF_REALTIME_EXPECTED);
}

void hf_realtime_ask_no_more(void) {
    hf_store_relaxed(&hf_realtime_state, (uint32_t)HF_REALTIME_REMEMBERED);
}

static unsigned ask(void) {
    struct hf_sched_attributes now = {0};
    if (hf_sys_sched_getattr(0, &now) != 0 || !hf_realtime_is_policy((int)now.policy))
        return 0;
    return now.policy == HF_SCHED_DEADLINE ? HF_PRIORITY_OF_DEADLINE : now.priority;
}

unsigned hf_realtime_priority_asked(void) {
    if (hf_load_relaxed(&hf_realtime_state) == HF_REALTIME_EXPECTED)
        remembered = ask();
    return remembered;
}

unsigned hf_realtime_priority_after_all(void) {
    if (hf_load_relaxed(&hf_realtime_state) == HF_REALTIME_NOT_EXPECTED && ask() != 0)
        hf_realtime_expect();
    return hf_realtime_priority();
}

// Threads inherit both.
__attribute__((constructor)) static void look_at_start(void) {
    struct rlimit time = {RLIM_INFINITY, RLIM_INFINITY};
    hf_sys_getrlimit(RLIMIT_RTTIME, &time);
    if (ask() != 0 || time.rlim_cur != RLIM_INFINITY)
        hf_realtime_expect();
}
