// SPDX-License-Identifier: MIT OR Apache-2.0
// Two counters: `next` is the ticket that the next arrival draws, `serving` the one whose holder is inside.
// Free: next == serving. Held with n waiting: next == serving + n + 1. Both wrap; fewer than 2^32 threads wait.
//
// Exclusion: tickets are drawn by fetch-and-add, so no two threads have the same, and only the holder moves `serving`.
#include "holdfast/ticket.h"

#include "base/atomic.h"
#include "base/poll.h"
#include "thread/poll_pause.h"

void hf_ticket_lock(hf_ticket_t *lock) {
    uint32_t ticket = hf_fetch_add_relaxed(&lock->next, 1);
    // Acquire: pairs with the release in hf_ticket_unlock.
    struct hf_poll_pause pause = {0};
    while (hf_load_acquire(&lock->serving) != ticket) {
        hf_poll_pause(&pause);
        hf_polls_alike_counted(pause.polls, 1, hf_polls_before_sleep(&pause));
    }
}

bool hf_ticket_trylock(hf_ticket_t *lock) {
    uint32_t serving = hf_load_acquire(&lock->serving);
    // Draws a ticket only if it is the one being served. `serving` can't have moved on since: that takes a holder, and
    // a holder means that `next` has moved too; unless exactly a multiple of 2^32 tickets are drawn between these two
    // lines (verify/check ticket/counter_of_two_bits shows it with smaller counters).
    return hf_cas_acquire(&lock->next, serving, serving + 1);
}

void hf_ticket_unlock(hf_ticket_t *lock) {
    hf_store_release(&lock->serving, hf_load_own(&lock->serving) + 1);
}
