// SPDX-License-Identifier: MIT OR Apache-2.0
// Requests for a longer time slice (FlexGuard paper, section 5; Linux 7.0 and later): a thread whose slice ends while
// its request stands goes on for some microseconds, and gives its CPU up as soon as it is done.
//
//              hf_slice_request()
//     NONE ----------------------------------------> STANDS
//      ^  ^                                           |  |
//      |  +---- hf_slice_done(), or any switch -------+  |  the slice ends: the kernel grants
//      |                                                 v
//      +---- hf_slice_done(): yields ---------------- GRANTED
//      |                                                 |
//      +---- the kernel takes the CPU: not done soon ----+
//            enough (expired), or a system call (aborted)
//
// slice.R1  A request stands from just before a section to its end, and a waiter has none of its own: granted time is
//     no use to one that polls. The kernel takes requests back with the CPU, hence each section requests anew, also
//     one inside another, and one whose thread has waited.
// slice.R2  A thread that was granted time yields at the end of its outermost section, and once: in this order the
//     section ends, the request is taken back, and the thread looks whether it was granted. (Between the look and the
//     yield the grant may expire: the yield has nothing to do then.)
// slice.R3  A thread that can't be heard, since its kernel has no such thing, a sandbox refuses it or is coming, or the
//     thread has no area or one of the program's, requests by stores that nobody reads.
//
// Which section is the outermost the thread's record knows (critical_depth), so there is no count of requests. What an
// interrupted section leaves behind (a jump out of it, a lock that another thread gives back), or one inside that of a
// lock without requests, is a request that stands until the thread's next switch, and does no other harm.
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

// Before the first request of a thread.
void hf_slice_requests_begin(struct hf_slice_requests *own) __attribute__((cold, visibility("hidden")));

// Whether the CPU was given up before the grant expired.
bool hf_slice_give_back(void) __attribute__((cold, visibility("hidden")));

// False: it would be the thread's first.
static inline bool hf_slice_request_again(void) {
    struct hf_slice_control *control = hf_own_slice_requests.control;
    if (HF_UNLIKELY(!control))
        return false;
    hf_store_relaxed(&control->request, (uint8_t)1);
    hf_program_order();
    return true;
}

static inline void hf_slice_request(void) {
    if (HF_LIKELY(hf_slice_request_again()))
        return;
    hf_slice_requests_begin(&hf_own_slice_requests);
    hf_slice_request_again();
}

// The outermost section has ended. Whether the slice was extended: then hf_slice_give_back() is due.
static inline bool hf_slice_ends_granted(void) {
    struct hf_slice_control *control = hf_own_slice_requests.control;
    if (HF_UNLIKELY(!control))
        return false; // another thread's section
    hf_program_order();
    hf_store_relaxed(&control->request, (uint8_t)0);
    hf_program_order();
    return HF_UNLIKELY(hf_load_relaxed(&control->granted) != 0);
}

// The same. Whether the slice was extended, and the caller has given the CPU up before the grant expired.
static inline bool hf_slice_done(void) {
    return hf_slice_ends_granted() && hf_slice_give_back();
}

#ifdef __cplusplus
}
#endif

#endif
