// SPDX-License-Identifier: MIT OR Apache-2.0
// The queue of one worker of the coroutine pool: its owner puts and gets, thieves steal from what is anybody's and
// recall from the owner's block, a sleeper looks whether it is empty.
// C++ code: coro/src/worker_queue.hpp (B1 to B3).
//
// One step is one access of a word that another thread may write at the time, or what one thread alone does between
// two of them. The owner puts one at a time: with several it is the same store of `back`. Thieves stop when they like;
// then the owner must be able to get the rest.
//
// B1  Each entry is taken once.
// B2  What is taken is what was put.
// B3  The queue does not look empty while an entry is in it.
// And no deadlock: nothing is lost, since all end when every entry has been taken.
#ifndef CAPACITY
#define CAPACITY 4
#endif
#ifndef BLOCK
#define BLOCK 2
#endif
#ifndef ENTRIES
#define ENTRIES 6
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
#ifndef TRIES
#define TRIES 2
#endif

bit B1, B2, B3;
#define ASSERT(invariant, condition) assert(invariant || (condition))
#define END_OF_BLOCK(p) (((p) / BLOCK + 1) * BLOCK)

byte front, back, got, stolen;
byte limit = BLOCK, shared = BLOCK;
bool guard;
byte slots[CAPACITY]; // an entry is called after its position, from 1
bool taken[ENTRIES];  // ghost
byte all_taken;       // ghost

#define LOCK() atomic { !guard -> guard = true }
#define UNLOCK() guard = false

inline take(position) {
    atomic {
        ASSERT(B1, !taken[position]);
        ASSERT(B2, slots[(position) % CAPACITY] == (position) + 1);
        taken[position] = true;
        all_taken++
    }
}

proctype Owner() {
    byte f, room_end = CAPACITY;

    do
    :: back < ENTRIES -> // put()
#ifndef MUTANT_NO_ROOM_IS_SOUGHT
        if
        :: back == room_end ->
            LOCK();
            atomic {
                if
#ifdef MUTANT_ROOM_UP_TO_THE_SHARED
                :: room_end = shared + CAPACITY
#else
                :: front < limit -> room_end = front + CAPACITY
                :: front >= limit -> room_end = shared + CAPACITY
#endif
                fi
            };
            UNLOCK()
        :: back < room_end
        fi;
#endif
        if
#ifndef MUTANT_NO_ROOM_IS_SOUGHT
        :: back == room_end // it goes to the common queue instead; here it is tried again
        :: back < room_end ->
#else
        :: true ->
#endif
            atomic { slots[back % CAPACITY] = back + 1; back++ }
        fi
    :: atomic { front < back -> f = front }; // get()
        if
        :: f < limit ->
#ifdef MUTANT_OWNER_LOOKS_FIRST
            if
            :: f < limit -> front = f + 1
            :: f >= limit -> goto guarded
            fi;
#else
            front = f + 1;
            if
            :: f < limit
            :: f >= limit -> goto guarded
            fi;
#endif
            take(f);
            got++
        :: f >= limit ->
guarded:
            LOCK();
            atomic {
                if
                :: f >= limit ->
                    f = shared;
                    limit = END_OF_BLOCK(f);
#ifndef MUTANT_CLAIMS_FOR_ALL
                    shared = limit
#endif
                :: f < limit
                fi;
#ifdef MUTANT_OWNER_STEPS_BACK_NEVER
                if
                :: f < back -> front = f + 1
                :: f >= back -> front = f + 1
                fi
#else
                if
                :: f < back -> front = f + 1
                :: f >= back -> front = f
                fi
#endif
            };
            if
            :: front == f + 1 && f < back -> take(f); got++
            :: else
            fi;
            UNLOCK()
        fi;
        f = 0
    :: all_taken == ENTRIES -> break
    od
}

proctype Thief() {
    byte b, end, old, count, i, tries;

    do
    :: atomic { tries < TRIES && back > got + stolen -> tries++ }; // looks_empty() is advice here
        atomic { !guard -> guard = true; b = back };
        if
        :: shared < b -> // steal
            atomic {
                count = (b - shared + 1) / 2;
                i = shared;
                shared = shared + count
            }
        :: shared >= b -> // recall
            atomic { old = limit; end = (limit < b -> limit : b) };
            i = front;
            if
            :: i >= end -> count = 0
            :: i < end ->
#ifdef MUTANT_THIEF_LOOKS_FIRST
                count = (end - i + 1) / 2;
                if
                :: front > end - count -> count = 0
                :: front <= end - count -> limit = end - count
                fi;
#else
                atomic { count = (end - i + 1) / 2; limit = end - count };
#ifndef MUTANT_THIEF_DOES_NOT_LOOK
                if
                :: front > end - count -> limit = old; count = 0
                :: front <= end - count
                fi;
#endif
#endif
                atomic {
                    i = end - count;
                    if
#ifdef MUTANT_RECALLS_ANEW
                    :: count > 0 -> shared = end
                    :: count == 0
#elif defined(MUTANT_REST_OF_THE_BLOCK_IS_LOST)
                    :: true
#else
                    :: count > 0 && old == shared -> shared = end
                    :: count == 0 || old != shared
#endif
                    fi
                }
            fi
        fi;
#ifdef MUTANT_STEALS_UNGUARDED
        UNLOCK();
#endif
        atomic { // nobody writes these slots before the guard is free (B2)
            end = i + count;
            do
            :: i < end -> take(i); i++
            :: i >= end -> break
            od
        };
        stolen = stolen + count;
#ifndef MUTANT_STEALS_UNGUARDED
        UNLOCK();
#endif
        atomic { b = 0; end = 0; old = 0; count = 0; i = 0 }
    :: break
    od
}

#ifdef LOOKED_AT
// Looks once, at any time, with one entry in mind.
proctype Sleeper() {
    byte mine, counted, seen;

    atomic {
        back > 0 && (all_taken < back || all_taken == ENTRIES);
        do
        :: mine < back - 1 -> mine++
        :: !taken[mine] -> break // it is here from now on, or is taken meanwhile
        :: taken[mine] && mine == back - 1 -> mine = 0; goto over
        od
    };
#ifdef MUTANT_LOOKS_AT_BACK_FIRST
    seen = back;
    counted = got;
    counted = counted + stolen;
#else
    counted = got;
    counted = counted + stolen;
    seen = back;
#endif
    ASSERT(B3, seen != counted || taken[mine]);
over:
    skip
}
#endif

init {
    byte i;
    atomic {
        run Owner();
#ifdef LOOKED_AT
        run Sleeper();
#endif
        do
        :: i < THIEVES -> run Thief(); i++
        :: i == THIEVES -> break
        od
    }
}
