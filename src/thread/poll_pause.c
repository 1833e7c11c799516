// SPDX-License-Identifier: MIT OR Apache-2.0
#include "thread/poll_pause.h"

#include "park/timed_sleep.h"
#include "thread/realtime.h"

enum {
    HF_POLL_SLEEP_NS_MIN = 20 * 1000,
    HF_POLL_SLEEP_NS_MAX = 1000 * 1000,
};

static bool is_realtime(const struct hf_poll_pause *pause) {
    if (pause->sleep_ns != 0)
        return true;
    bool asks = pause->polls % HF_POLLS_BEFORE_QUESTION == 0;
    return (asks ? hf_realtime_priority_after_all() : hf_realtime_priority()) != 0;
}

void hf_poll_pause_or_sleep(struct hf_poll_pause *pause) {
    if (!is_realtime(pause))
        return;
    uint32_t sleep_ns = pause->sleep_ns != 0 ? pause->sleep_ns : HF_POLL_SLEEP_NS_MIN;
    hf_timed_sleep(sleep_ns);
    pause->sleep_ns = sleep_ns < HF_POLL_SLEEP_NS_MAX / 2 ? 2 * sleep_ns : HF_POLL_SLEEP_NS_MAX;
}
