// SPDX-License-Identifier: MIT OR Apache-2.0
// MCS: a queue of nodes; each holder clears the `waiting` of the next. C code: src/lock/basic/mcs.c,
// src/lock/basic/queue_node.c.
//
//     free: tail NULL     held: tail is the holder's node     n waiting: holder -> w1 -> ... -> wn, which is the tail
//
// One step is one load, store, exchange or compare-and-swap of the C code. A loop that polls is a step that waits until
// what it polls for is there: so a thread that would poll for ever shows as a deadlock. A thread uses one lock at a
// time, so its store of spare nodes always gives it the same node: thread t has node t. Each thread locks any number of
// times.
//
// I1    Exclusion.
// FIFO  First come, first served: a thread that was behind a node gets the lock from that node's thread.
// NODE  Nobody stores to a node that is among the spare ones: its `next` is a link of that list.
#ifndef THREADS
#define THREADS 4
#endif

#define NULL 0
#define SPARE (THREADS + 1) // in `next`: a link of the list of spare nodes

bit I1, FIFO, NODE;
#define ASSERT(invariant, condition) assert(invariant || (condition))

byte tail;
byte holder;
byte next[THREADS + 2] = SPARE;
bool waiting[THREADS + 2];

bool inside;      // ghost
byte last_inside; // ghost: the node that had the lock last

inline own() {
    ASSERT(I1, !inside);
    ASSERT(FIFO, before == NULL || before == last_inside);
    inside = true;
    last_inside = me;
    before = NULL
}

proctype Thread(byte me) {
    byte before, after;

outside:
    if
    :: true -> goto locking
    // hf_mcs_trylock
    :: tail != NULL -> goto outside
    :: tail == NULL
    :: true -> goto finished
    fi;
    next[me] = NULL;
    if
#ifdef MUTANT_TRYLOCK_CHECKS_THEN_STORES
    :: atomic { tail = me; own() }
#else
    :: atomic { tail == NULL -> tail = me; own() }
#endif
    :: atomic { tail != NULL -> next[me] = SPARE }; goto outside
    fi;
    goto acquired;

    // hf_mcs_lock
locking:
#ifndef MUTANT_NEXT_NOT_CLEARED
    next[me] = NULL;
#endif
#ifndef MUTANT_WAITING_SET_AFTER_THE_LINK
    waiting[me] = true;
#endif
    atomic {
        before = tail;
        tail = me;
        if
        :: before == NULL -> own(); goto acquired
        :: before != NULL
        fi
    };
    atomic { ASSERT(NODE, next[before] != SPARE); next[before] = me };
#ifdef MUTANT_WAITING_SET_AFTER_THE_LINK
    waiting[me] = true;
#endif
    atomic { !waiting[me] -> own() };

acquired:
    holder = me;

    // hf_mcs_unlock
    ASSERT(I1, holder == me);
    after = next[me];
    if
#ifdef MUTANT_LAST_COME_FIRST_SERVED
    :: after != NULL -> after = tail; goto hand_over
#else
    :: after != NULL -> goto hand_over
#endif
    :: after == NULL
    fi;
    if
    :: atomic {
#ifndef MUTANT_RELEASE_STORES_NULL
           tail == me ->
#endif
           tail = NULL; inside = false; next[me] = SPARE
       }; goto outside
    :: tail != me
    fi;
#ifdef MUTANT_UNLOCK_DOES_NOT_WAIT_FOR_THE_LINK
    atomic { inside = false; next[me] = SPARE };
    goto outside;
#endif
    atomic { next[me] != NULL -> after = next[me] };

hand_over:
    atomic {
        ASSERT(NODE, after != SPARE && next[after] != SPARE);
        inside = false;
        waiting[after] = false;
        after = NULL
    };
    next[me] = SPARE;
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
