// SPDX-License-Identifier: MIT OR Apache-2.0
// ConcurrencyKit's MCS lock. Its context, which the caller is to bring, is one of our nodes, and kept in the lock.
#include <ck_spinlock.h>

#include "lock/basic/queue_node.h"
#include "peers/peer.h"

_Static_assert(sizeof(ck_spinlock_mcs_context_t) <= sizeof(struct hf_queue_node), "a context fits into a node");

struct ck_mcs {
    ck_spinlock_mcs_t tail;
    ck_spinlock_mcs_context_t *owner;
};

static void lock(void *memory) {
    struct ck_mcs *one = memory;
    ck_spinlock_mcs_context_t *context = (ck_spinlock_mcs_context_t *)hf_queue_node_take();
    ck_spinlock_mcs_lock(&one->tail, context);
    one->owner = context;
}

static bool trylock(void *memory) {
    struct ck_mcs *one = memory;
    ck_spinlock_mcs_context_t *context = (ck_spinlock_mcs_context_t *)hf_queue_node_take();
    if (!ck_spinlock_mcs_trylock(&one->tail, context)) {
        hf_queue_node_give((struct hf_queue_node *)context);
        return false;
    }
    one->owner = context;
    return true;
}

static void unlock(void *memory) {
    struct ck_mcs *one = memory;
    ck_spinlock_mcs_context_t *context = one->owner;
    ck_spinlock_mcs_unlock(&one->tail, context);
    hf_queue_node_give((struct hf_queue_node *)context);
}

const struct hf_peer hf_peer_ck_mcs = {
    .bytes = sizeof(struct ck_mcs), .lock = lock, .trylock = trylock, .unlock = unlock};
