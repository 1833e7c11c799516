// SPDX-License-Identifier: MIT OR Apache-2.0
#include "park/slice_request.h"

#include "base/system_call.h"

// Linux's: the user header linux/prctl.h of 7.0.
enum {
    HF_PR_RSEQ_SLICE_EXTENSION = 79,
    HF_PR_RSEQ_SLICE_EXTENSION_GET = 1,
    HF_PR_RSEQ_SLICE_EXTENSION_SET = 2,
    HF_PR_RSEQ_SLICE_EXT_ENABLE = 1,
};

__thread struct hf_slice_requests hf_own_slice_requests __attribute__((tls_model("initial-exec")));

static enum { UNKNOWN, HAS_IT, HAS_NOT, FORGONE } kernel;

int hf_slice_extension_refusal(void) {
    long answer = hf_sys_prctl(HF_PR_RSEQ_SLICE_EXTENSION, HF_PR_RSEQ_SLICE_EXTENSION_GET, 0, 0, 0);
    return answer < 0 ? (int)-answer : 0;
}

bool hf_slices_can_be_extended(void) {
    if (hf_load_relaxed(&kernel) == UNKNOWN)
        hf_cas_relaxed(&kernel, UNKNOWN, hf_slice_extension_refusal() == 0 ? HAS_IT : HAS_NOT);
    return hf_load_relaxed(&kernel) == HAS_IT;
}

static bool enable(void) {
    return hf_sys_prctl(HF_PR_RSEQ_SLICE_EXTENSION, HF_PR_RSEQ_SLICE_EXTENSION_SET, HF_PR_RSEQ_SLICE_EXT_ENABLE, 0,
                        0) == 0;
}

void hf_slice_requests_begin(struct hf_slice_requests *own) {
    own->control = &own->unheard; // of a signal handler meanwhile
    if (!hf_slices_can_be_extended() || !(enable() || (hf_rseq_area_enlarge() && enable())))
        return;
    struct hf_rseq_area *area = hf_own_rseq_area();
    if (!area || hf_load_relaxed(&area->cpu_id) >= HF_RSEQ_NO_CPU)
        return; // the kernel reads another one, which the program has registered
    struct hf_slice_control *heard = &area->slice;
    hf_store_relaxed(&heard->request, own->unheard.request);
    own->control = heard;
}

bool hf_slice_requests_are_heard(void) {
    struct hf_slice_requests *own = &hf_own_slice_requests;
    if (!own->control)
        hf_slice_requests_begin(own);
    return own->control != &own->unheard;
}

void hf_slice_requests_forgo(void) {
    hf_store_relaxed(&kernel, FORGONE);
}

// Forgone: the grant expires.
bool hf_slice_give_back(void) {
    return hf_load_relaxed(&kernel) != FORGONE && hf_sys_rseq_slice_yield() == 1;
}
