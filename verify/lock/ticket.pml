// SPDX-License-Identifier: MIT OR Apache-2.0
// The ticket lock: `next` is the ticket that the next arrival draws, `serving` the one whose holder is inside.
// C code: src/lock/basic/ticket.c. Free: next == serving. Held with n waiting: next == serving + n + 1.
//
// The counters have 4 bits instead of 32 and start shortly before they wrap. Fewer tickets are drawn in all than the
// counters have values; the C code relies on that only between the load and the compare-and-swap of one trylock, which
// may not take so long that 2^32 tickets are drawn meanwhile. MUTANT_COUNTER_OF_TWO_BITS shows what happens otherwise.
//
// One step is one load, store, fetch-and-add or compare-and-swap. Polling is a step that waits: so a thread that would
// poll for ever shows as a deadlock.
//
// I1  Exclusion.
#ifndef THREADS
#define THREADS 3
#endif
#define ROUNDS 4 // of each thread that draw a ticket

#ifdef MUTANT_COUNTER_OF_TWO_BITS
#define WRAP(x) ((x) & 3)
#else
#define WRAP(x) ((x) & 15)
#endif

bit I1;
#define ASSERT(invariant, condition) assert(invariant || (condition))

byte next = WRAP(11);
byte serving = WRAP(11);
bool inside; // ghost

inline own() {
    ASSERT(I1, !inside);
    inside = true
}

proctype Thread(byte me) {
    byte ticket, rounds;

outside:
    ticket = 0;
    if
    // hf_ticket_lock
    :: atomic { rounds < ROUNDS -> rounds++; ticket = next;
#ifndef MUTANT_TICKET_LOADED_THEN_STORED
           next = WRAP(next + 1)
#endif
       }
    // hf_ticket_trylock
    :: atomic { rounds < ROUNDS -> ticket = serving }; goto trying
    :: true -> goto finished
    fi;
#ifdef MUTANT_TICKET_LOADED_THEN_STORED
    next = WRAP(ticket + 1);
#endif
    atomic { serving == ticket -> own() };
    goto holding;

trying:
    if
#ifdef MUTANT_TRYLOCK_CHECKS_THEN_STORES
    :: next == ticket; atomic { rounds++; next = WRAP(ticket + 1); own() }
#else
    :: atomic { next == ticket -> rounds++; next = WRAP(ticket + 1); own() }
#endif
    :: next != ticket -> goto outside
    fi;

    // hf_ticket_unlock: only the holder moves `serving`, so its load and its store are one step.
holding:
    atomic { inside = false; serving = WRAP(serving + 1) };
    goto outside;

finished:
    skip
}

init {
    atomic {
        byte thread;
        for (thread : 1 .. THREADS) {
            run Thread(thread)
        }
    }
}
