// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/posix/spin_word.h"

#include "base/pause.h"
#include "lock/wait/spin_budget.h"
#include "observe/observation.h"
#include "park/timed_sleep.h"

static bool poll_blindly(const int *word) {
    for (int polls = 0; polls < HF_SPIN_POLLS_BLIND; polls++) {
        if (hf_load_relaxed(word) == HF_SPIN_FREE)
            return true;
        hf_timed_pause();
    }
    return false;
}

static bool poll_while_it_pays(const int *word) {
    struct hf_spin_budget budget = {.polls_left = HF_SPIN_POLLS_BETWEEN};
    do {
        if (hf_load_relaxed(word) == HF_SPIN_FREE)
            return true;
    } while (hf_spin_budget_left(&budget));
    return false;
}

static void wait_for(int *word, struct hf_thread_record *self, struct hf_wait *wait) {
    uint32_t sleep_ns = HF_SPIN_SLEEP_NS_MIN;
    if (poll_blindly(word) && hf_spin_try_acquire(word, self))
        return;
    for (;;) {
        while (!poll_while_it_pays(word)) {
            hf_hint_look_again();
            if (hf_spinning_pays())
                continue;
            hf_wait_falls_asleep(wait);
            hf_timed_sleep(sleep_ns);
            hf_wait_awakes(wait);
            sleep_ns = sleep_ns * 2 < HF_SPIN_SLEEP_NS_MAX ? sleep_ns * 2 : HF_SPIN_SLEEP_NS_MAX;
        }
        if (hf_spin_try_acquire(word, self))
            return;
    }
}

void hf_spin_wait(int *word, struct hf_thread_record *self) {
    struct hf_wait wait = hf_wait_begin(self, word);
    hf_count(self, contended);
    wait_for(word, self, &wait);
    hf_note_wait(word, self, HF_STATISTICS_SPINLOCK, &wait, true);
}
