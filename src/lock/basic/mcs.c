// SPDX-License-Identifier: MIT OR Apache-2.0
// MCS: `tail` is the last node of the queue, whose first node is the holder's; each node's `waiting` is cleared by its
// predecessor.
//
//     free: tail NULL       held: tail is the holder's node       n waiting: holder -> w1 -> ... -> wn == tail
//
// Exclusion: the exchange on `tail` gives each arrival one predecessor, and each node has one successor at most, so
// `waiting` is cleared once, by the holder, for one thread.
#include "holdfast/mcs.h"

#include "base/poll.h"
#include "lock/basic/queue_node.h"
#include "thread/poll_pause.h"

void hf_mcs_lock(hf_mcs_t *lock) {
    struct hf_queue_node *node = hf_queue_node_take();
    hf_store_own(&node->next, NULL);
    hf_store_own(&node->waiting, true);
    // Release: the predecessor finds our node cleared. Acquire: pairs with the release when the lock was last free.
    struct hf_queue_node *before = hf_exchange_acq_rel(&lock->tail, node);
    if (before) {
        hf_store_release(&before->next, node);
        struct hf_poll_pause pause = {0};
        while (hf_load_acquire(&node->waiting)) { // pairs with the release in hf_mcs_unlock
            hf_poll_pause(&pause);
            hf_polls_alike_counted(pause.polls, 1, hf_polls_before_sleep(&pause));
        }
    }
    hf_store_own(&lock->holder, node);
}

bool hf_mcs_trylock(hf_mcs_t *lock) {
    if (hf_load_relaxed(&lock->tail))
        return false;
    struct hf_queue_node *node = hf_queue_node_take();
    hf_store_own(&node->next, NULL);
    if (!hf_cas_acq_rel(&lock->tail, NULL, node)) {
        hf_queue_node_give(node);
        return false;
    }
    hf_store_own(&lock->holder, node);
    return true;
}

void hf_mcs_unlock(hf_mcs_t *lock) {
    struct hf_queue_node *node = hf_load_own(&lock->holder);
    struct hf_queue_node *after = hf_load_acquire(&node->next);
    if (!after) {
        if (hf_cas_release(&lock->tail, node, NULL)) {
            hf_queue_node_give(node);
            return;
        }
        // Somebody has taken the tail and will link itself in a moment.
        struct hf_poll_pause pause = {0};
        while (!(after = hf_load_acquire(&node->next)))
            hf_poll_pause(&pause);
    }
    hf_store_release(&after->waiting, false);
    hf_queue_node_give(node);
}
