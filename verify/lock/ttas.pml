// SPDX-License-Identifier: MIT OR Apache-2.0
// Test-and-test-and-set: every waiter polls the word and exchanges it when it looks free. C code:
// src/lock/basic/ttas.c.
//
//     FREE --- exchange for HELD, by a thread that polls it first ---> HELD
//     HELD --- unlock stores FREE ---> FREE
//
// One step is one load, store or exchange. Polling is a step that waits: so a thread that would poll for ever shows as
// a deadlock. Each thread locks any number of times, as lock, trylock or clocklock.
//
// I1  Exclusion: only an exchange that returns FREE enters.
#ifndef THREADS
#define THREADS 4
#endif

#define HF_WORD_FREE 0
#define HF_WORD_HELD 1

bit I1;
#define ASSERT(invariant, condition) assert(invariant || (condition))

byte word = HF_WORD_FREE;
bool inside; // ghost

inline own() {
    ASSERT(I1, !inside);
    inside = true
}

proctype Thread(byte me) {
    bool may_give_up; // trylock, or clocklock whose deadline comes

outside:
    if
    :: may_give_up = false
    :: may_give_up = true
    :: true -> goto finished
    fi;

trying:
#ifdef MUTANT_CHECKS_THEN_STORES
    if
    :: word == HF_WORD_FREE; atomic { word = HF_WORD_HELD; own() }; goto holding
    :: word == HF_WORD_HELD
    fi;
#else
    atomic {
        if
        :: word == HF_WORD_FREE -> word = HF_WORD_HELD; own(); goto holding
        :: word == HF_WORD_HELD
        fi
    };
#endif
    if
    :: word == HF_WORD_FREE -> goto trying
    :: may_give_up -> goto outside
    fi;

holding:
#ifdef MUTANT_UNLOCK_STORES_NOTHING
    inside = false;
#else
    atomic { inside = false; word = HF_WORD_FREE };
#endif
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
