// SPDX-License-Identifier: MIT OR Apache-2.0
// Requests for a longer time slice (FlexGuard paper, section 5; Linux 7.0 and later): a thread whose slice ends while
// its request stands goes on for some microseconds, and gives its CPU up as soon as it is done.
//
//              hf_slice_request()                       hf_slice_done()
//     NONE ------------------------> STANDS (depth 1, 2, ...) -----------> NONE
//                                       |                                   ^
//                     the slice ends:   |  the kernel grants                |  hf_slice_done(): yields
//                                       +-------------> GRANTED ------------+
//                                                          |                |
//                          the kernel takes the CPU:       |                |
//                          it was not done soon enough     +---> EXPIRED ---+
//
// slice.R1  The request stands exactly while the thread's requests are more than those that it is done with. The
//     outermost alone touches what the kernel reads, and in this order: request, section, no request, a look whether it
//     was granted.
// slice.R2  A thread that was granted time yields at its end, and once. (Between the look and the yield the grant may
//     expire: the yield has nothing to do then.)
// slice.R3  A thread that can't be heard, since its kernel has no such thing, a sandbox refuses it or is coming, or the
//     thread has no area, requests by stores that nobody reads.
//
// What an interrupted section leaves behind (a jump out of it, a lock that another thread gives back) makes its
// thread's slices that much longer, and does no other harm.
#ifndef HF_PARK_SLICE_REQUEST_H
#define HF_PARK_SLICE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/rseq_area.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hf_slice_requests {
    struct hf_slice_control *control; // what the kernel reads, or `unheard`; NULL: the thread has requested nothing yet
    uint32_t depth;
    struct hf_slice_control unheard;
};
extern __thread struct hf_slice_requests hf_own_slice_requests
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Why the running kernel grants no requests: an errno; 0: it does.
int hf_slice_extension_refusal(void);

// Does it? It was asked when this process first wanted to know.
bool hf_slices_can_be_extended(void);

// Is the calling thread heard?
bool hf_slice_requests_are_heard(void);

// From now on the kernel isn't asked for anything new, nor yielded to: what is to come may not survive that.
void hf_slice_requests_forgo(void);

// The first request of a thread.
void hf_slice_requests_begin(struct hf_slice_requests *own) __attribute__((cold, visibility("hidden")));
bool hf_slice_give_back(void) __attribute__((cold, visibility("hidden")));

static inline void hf_slice_request(void) {
    struct hf_slice_requests *own = &hf_own_slice_requests;
    if (HF_UNLIKELY(!own->control))
        hf_slice_requests_begin(own);
    if (own->depth++ == 0)
        hf_store_relaxed(&own->control->request, (uint8_t)1);
    hf_program_order();
}

// Whether the slice was extended, and the caller has given the CPU up before the grant expired.
static inline bool hf_slice_done(void) {
    struct hf_slice_requests *own = &hf_own_slice_requests;
    hf_program_order();
    if (HF_UNLIKELY(own->depth == 0) || --own->depth != 0)
        return false;
    hf_store_relaxed(&own->control->request, (uint8_t)0);
    hf_program_order();
    return HF_UNLIKELY(hf_load_relaxed(&own->control->granted) != 0) && hf_slice_give_back();
}

#ifdef __cplusplus
}
#endif

#endif
