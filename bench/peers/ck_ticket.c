// SPDX-License-Identifier: MIT OR Apache-2.0
// ConcurrencyKit's ticket lock.
#include <ck_spinlock.h>

#include "peers/peer.h"

static void lock(void *memory) {
    ck_spinlock_ticket_lock(memory);
}

static bool trylock(void *memory) {
    return ck_spinlock_ticket_trylock(memory);
}

static void unlock(void *memory) {
    ck_spinlock_ticket_unlock(memory);
}

const struct hf_peer hf_peer_ck_ticket = {
    .bytes = sizeof(ck_spinlock_ticket_t), .lock = lock, .trylock = trylock, .unlock = unlock};
