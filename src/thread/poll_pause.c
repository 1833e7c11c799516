// SPDX-License-Identifier: MIT OR Apache-2.0
#include "thread/poll_pause.h"

#include "park/timed_sleep.h"
#include "thread/realtime.h"

enum {
    HF_POLL_NAP_NS_MIN = 20 * 1000,
    HF_POLL_NAP_NS_MAX = 1000 * 1000,
};

static bool is_realtime(const struct hf_poll_pause *pause) {
    if (pause->nap_ns != 0)
        return true;
    bool asks = pause->polls % HF_POLLS_BEFORE_QUESTION == 0;
    return (asks ? hf_realtime_priority_after_all() : hf_realtime_priority()) != 0;
}

void hf_poll_pause_or_nap(struct hf_poll_pause *pause) {
    if (!is_realtime(pause))
        return;
    uint32_t nap_ns = pause->nap_ns != 0 ? pause->nap_ns : HF_POLL_NAP_NS_MIN;
    hf_timed_sleep(nap_ns);
    pause->nap_ns = nap_ns < HF_POLL_NAP_NS_MAX / 2 ? 2 * nap_ns : HF_POLL_NAP_NS_MAX;
}
