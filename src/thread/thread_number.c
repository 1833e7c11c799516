// SPDX-License-Identifier: MIT OR Apache-2.0
#include "thread/thread_number.h"

#include <string.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/system_call.h"

static ptrdiff_t libcs_offset; // 0: not known

static uint32_t libcs_tid(ptrdiff_t offset) {
    uint32_t tid;
    memcpy(&tid, hf_thread_pointer() + offset, sizeof(tid));
    return tid;
}

bool hf_tids_are_at(ptrdiff_t offset) {
    // The main thread's number is its process's. The second question is only put by a thread that is another.
    if (libcs_tid(offset) != hf_sys_getpid() && libcs_tid(offset) != hf_sys_gettid())
        return false;
    hf_store_relaxed(&libcs_offset, offset);
    return true;
}

bool hf_tids_are_libcs(void) {
    return hf_load_relaxed(&libcs_offset) != 0;
}

// A number for as long as the thread lives.
static uint32_t number_of_ours(void) {
    static __thread uint32_t own __attribute__((tls_model("initial-exec")));
    static uint32_t numbers;
    if (own == 0)
        own = HF_TIDS_OF_OURS + hf_fetch_add_relaxed(&numbers, 1) % HF_TIDS_OF_OURS;
    return own;
}

uint32_t hf_tid_asked(void) {
    ptrdiff_t offset = hf_load_relaxed(&libcs_offset);
    if (offset != 0)
        return libcs_tid(offset);
    long tid = hf_sys_gettid();
    return HF_LIKELY(tid > 0) ? (uint32_t)tid : number_of_ours();
}
