// SPDX-License-Identifier: MIT OR Apache-2.0
// ConcurrencyKit's CLH lock. The node that it exchanges at unlock for the predecessor's is one of ours. A lock that has
// never been taken has no predecessor's node to begin with: the first to ask makes one, and a thread that is second in
// that gives its own back.
#include <ck_spinlock.h>

#include "lock/basic/queue_node.h"
#include "peers/peer.h"

_Static_assert(sizeof(ck_spinlock_clh_t) <= sizeof(struct hf_queue_node), "theirs fits into ours");

struct ck_clh {
    ck_spinlock_clh_t *tail;
    ck_spinlock_clh_t *owner;
};

static void make_first_node(struct ck_clh *one) {
    ck_spinlock_clh_t *first = (ck_spinlock_clh_t *)hf_queue_node_take();
    first->previous = NULL;
    first->wait = false;
    if (!hf_cas_release(&one->tail, NULL, first))
        hf_queue_node_give((struct hf_queue_node *)first);
}

static void lock(void *memory) {
    struct ck_clh *one = memory;
    if (HF_UNLIKELY(!hf_load_acquire(&one->tail)))
        make_first_node(one);
    ck_spinlock_clh_t *node = (ck_spinlock_clh_t *)hf_queue_node_take();
    ck_spinlock_clh_lock(&one->tail, node);
    one->owner = node;
}

static void unlock(void *memory) {
    struct ck_clh *one = memory;
    ck_spinlock_clh_t *node = one->owner;
    ck_spinlock_clh_unlock(&node); // `node` is the predecessor's now
    hf_queue_node_give((struct hf_queue_node *)node);
}

const struct hf_peer hf_peer_ck_clh = {.bytes = sizeof(struct ck_clh), .lock = lock, .unlock = unlock};
