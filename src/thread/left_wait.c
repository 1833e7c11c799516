// SPDX-License-Identifier: MIT OR Apache-2.0
#include "thread/left_wait.h"

#include <errno.h>

#include "observe/observation.h"
#include "park/owned_lock.h"
#include "park/word_lock.h"

void hf_wait_is_left(void *pointer) {
    struct hf_left_wait *left = pointer;
    void (*undo)(struct hf_left_wait *) = left->undo;
    if (!undo)
        return;
    if (!left->is_repeated)
        left->undo = NULL; // once
    hf_thread_awakes(left->self);
    undo(left);
    hf_store_relaxed(&left->self->in_slices, left->slices);
    hf_store_relaxed(&left->self->critical.critical_depth, left->depth);
    hf_program_order();
    left->undo = NULL;
}

struct word_wait {
    struct hf_left_wait left;
    const uint32_t *word;
};

static void unwound(struct word_wait *wait) {
    hf_left_wait_unwound(&wait->left);
}

static void hand_wake_on(struct hf_left_wait *left) {
    hf_word_wake(((struct word_wait *)left)->word);
}

static int lock_noting_sleeps(uint32_t *word, const struct hf_deadline *deadline, struct hf_wait *wait) {
    while (!hf_word_take_or_announce(word)) {
        hf_count(wait->self, blocked);
        hf_wait_falls_asleep(wait);
        hf_wait_marks_hold(wait);
        int error = hf_futex_wait(word, HF_WORD_HELD_WITH_SLEEPERS, deadline);
        hf_wait_awakes(wait);
        if (error == ETIMEDOUT)
            return ETIMEDOUT;
    }
    return 0;
}

int hf_word_lock_or_leave(uint32_t *word, struct hf_thread_record *self, uint32_t depth,
                          const struct hf_deadline *deadline, struct hf_wait *noted) {
    __attribute__((cleanup(unwound))) struct word_wait wait = {.word = word};
    hf_left_wait_begin(&wait.left, self, depth, hand_wake_on);
    int error = noted ? lock_noting_sleeps(word, deadline, noted) : hf_word_lock_blocking(word, deadline);
    hf_left_wait_end(&wait.left);
    return error;
}

void hf_owned_lock_or_leave(uint32_t *word, struct hf_thread_record *self, uint32_t depth) {
    __attribute__((cleanup(unwound))) struct word_wait wait = {.word = word};
    hf_left_wait_begin(&wait.left, self, depth, hand_wake_on);
    hf_owned_lock_blocking(word, hf_tid(self));
    hf_left_wait_end(&wait.left);
}
