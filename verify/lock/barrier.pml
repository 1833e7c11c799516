// SPDX-License-Identifier: MIT OR Apache-2.0
// The barrier: arrivals are numbered, `let_go` says up to which one they may leave, `out` when the memory is free.
// C code: src/lock/posix/barrier.h (B1, B2, B3), src/lock/posix/barrier.c.
//
//     in + 1 --> fills a round --> let_go, wakes all --> + 1 to out --> out
//        |           |                                    ^    |
//        |           +--> polls, sleeps -- let_go --------+    +-- the last number: let_go = out = 0, in = 0, wakes
//        +--> above the last number: waits until `in` is 0, comes again
//
// One step is one atomic instruction, or the work of one futex call inside the kernel. There are more threads than
// COUNT, so several rounds are under way at once. Each thread comes any number of times, until FULL_ROUNDS rounds are
// full; then one that came out of the last of them destroys the barrier, while others are still on their way out. LAST
// is the last number: with LAST_ROUNDS below FULL_ROUNDS the barrier begins anew in between. How a sleep ends is
// modelled as in lock_word.inc.
//
// B1  Together. Nobody leaves before all of its round have arrived.
// B2  Nobody stays: nobody sleeps who may go on, unless somebody is on its way to wake all. And no deadlock.
// B3  Nobody touches the barrier after it was destroyed.
#ifndef THREADS
#define THREADS 4
#endif
#ifndef COUNT
#define COUNT 2
#endif
#ifndef FULL_ROUNDS
#define FULL_ROUNDS 3
#endif
#ifndef LAST_ROUNDS
#define LAST_ROUNDS 9
#endif
#define LAST (COUNT * LAST_ROUNDS)

bit B1, B2, B3;
#define ASSERT(invariant, condition) assert(invariant || (condition))

byte arrived; // `in`, a word of Promela's
byte let_go;
byte out;

byte to_come = COUNT * FULL_ROUNDS; // ghost: numbers that are still to be taken
byte late_ones;                     // ghost: those that have one, above LAST, and are to come again
byte wakes_due;                     // ghost: those that have moved let_go or `in` and have not woken the others yet
bool destroyed;
#define TOUCH ASSERT(B3, !destroyed)

mtype = {AWAKE, ON_LET_GO, ON_IN, ON_IN_TO_DESTROY};
mtype sleeps[THREADS + 1] = AWAKE;
byte number_of[THREADS + 1];

#define FORGOTTEN(t)                                                                                                   \
    ((sleeps[t] == ON_LET_GO && number_of[t] <= let_go) || (sleeps[t] == ON_IN && arrived <= LAST) ||                  \
     (sleeps[t] == ON_IN_TO_DESTROY && arrived == 0))
#define ANY(is) (is(1) || is(2) || is(3) || is(4))
#define B2_HOLDS (!ANY(FORGOTTEN) || wakes_due > 0)

#define IS_ON_IN(t) (sleeps[t] == ON_IN || sleeps[t] == ON_IN_TO_DESTROY)
#define WAKE_IF(t, condition)                                                                                          \
    if                                                                                                                 \
    :: condition -> sleeps[t] = AWAKE                                                                                  \
    :: else                                                                                                            \
    fi

// hf_futex_wake(&barrier->let_go, INT_MAX)
inline wake_let_go() {
#ifdef MUTANT_WAKES_ONE
    if
    :: sleeps[1] == ON_LET_GO -> sleeps[1] = AWAKE
    :: sleeps[2] == ON_LET_GO -> sleeps[2] = AWAKE
    :: sleeps[3] == ON_LET_GO -> sleeps[3] = AWAKE
    :: sleeps[4] == ON_LET_GO -> sleeps[4] = AWAKE
    :: else
    fi
#else
    WAKE_IF(1, sleeps[1] == ON_LET_GO);
    WAKE_IF(2, sleeps[2] == ON_LET_GO);
    WAKE_IF(3, sleeps[3] == ON_LET_GO);
    WAKE_IF(4, sleeps[4] == ON_LET_GO)
#endif
}

inline wake_in() {
    WAKE_IF(1, IS_ON_IN(1));
    WAKE_IF(2, IS_ON_IN(2));
    WAKE_IF(3, IS_ON_IN(3));
    WAKE_IF(4, IS_ON_IN(4))
}

inline sleep_on(word, how) {
    if
    :: atomic {
#ifndef MUTANT_SLEEPS_UNCHECKED
           word == seen ->
#endif
           TOUCH; seen = 0; sleeps[me] = how; ASSERT(B2, B2_HOLDS)
       };
       if
       :: sleeps[me] == AWAKE
#ifdef SLEEP_ENDS_BY_ITSELF
       :: atomic { sleeps[me] != AWAKE -> sleeps[me] = AWAKE }
#endif
       fi
    :: seen = 0 // it was another, a signal, a stray wake
    fi
}

// hf_fetch_add_acq_rel(&barrier->in, 1) + 1
inline take_number() {
    TOUCH;
    number_of[me] = arrived + 1;
#ifndef MUTANT_NUMBER_LOADED_THEN_STORED
    arrived++;
#endif
#ifndef MUTANT_NUMBERS_GO_ON
    if
    :: number_of[me] > LAST -> late_ones++; number_of[me] = 0; goto late
    :: else
    fi
#endif
}

proctype Thread(byte me) {
    byte seen, ending, was;
    bool serial, destroys, begins;

    // hf_barrier_wait: arrive. What it says of its number is joined to the step that takes it.
outside:
    if
    :: atomic { to_come > 0 -> to_come--; take_number() }
    :: to_come == 0 -> goto finished
    fi;
    goto has_number;
again:
    atomic { late_ones--; take_number() };
has_number:
#ifdef MUTANT_NUMBER_LOADED_THEN_STORED
    atomic { TOUCH; arrived = number_of[me] };
#endif
#ifdef MUTANT_LEFT_FIRST
    atomic { TOUCH; out++ };
#endif

    // end_full_rounds
    atomic {
        TOUCH;
        ending = number_of[me] - number_of[me] % COUNT;
        serial = (number_of[me] % COUNT == 0);
        seen = let_go
    };
    do
    :: seen >= ending -> break
    :: seen < ending ->
#ifdef MUTANT_WAKES_BEFORE
        wake_let_go();
#endif
        atomic {
            TOUCH;
#ifdef MUTANT_LET_GO_STORED
            if
            :: true -> let_go = ending; wakes_due++; was = 1; ASSERT(B2, B2_HOLDS)
            fi
#else
            if
            :: let_go == seen -> let_go = ending; wakes_due++; was = 1; ASSERT(B2, B2_HOLDS)
            :: else -> was = 0
            fi
#endif
        };
        if
        :: was == 1 ->
            atomic {
#if !defined(MUTANT_NEVER_WAKES) && !defined(MUTANT_WAKES_BEFORE)
                wake_let_go();
#endif
                wakes_due--;
                was = 0;
                seen = ending;
                ASSERT(B2, B2_HOLDS)
            }
        :: was == 0 -> atomic { TOUCH; seen = let_go }
        fi
    od;
    atomic {
        ending = 0;
        if
        :: number_of[me] <= seen -> seen = 0; goto leaving
        :: else -> seen = 0
        fi
    };

    // wait_until_let_go
waiting:
#ifdef MUTANT_LEAVES_WITH_ANY_ROUND
    if
    :: atomic { let_go > 0 -> TOUCH }; goto leaving
    :: atomic { let_go == 0 -> TOUCH; seen = let_go }
    fi;
#else
    if
    :: atomic { number_of[me] <= let_go -> TOUCH }; goto leaving
    :: atomic { number_of[me] > let_go -> TOUCH; seen = let_go }
    fi;
#endif
    sleep_on(let_go, ON_LET_GO);
    goto waiting;

leaving:
    atomic {
        ASSERT(B1, arrived >= (number_of[me] + COUNT - 1) / COUNT * COUNT);
        destroys = (serial && to_come == 0 && late_ones == 0 && number_of[me] == arrived);
#ifndef MUTANT_LEFT_FIRST
        TOUCH;
        out++;
#endif
        begins = (out == LAST);
        number_of[me] = 0;
        serial = false;
        if
        :: !begins -> goto left
        :: begins -> begins = false
        fi
    };

    // begin_anew
#ifdef MUTANT_IN_FIRST
    atomic { TOUCH; arrived = 0; wakes_due++; ASSERT(B2, B2_HOLDS) };
#endif
    atomic { TOUCH; let_go = 0 };
#ifdef MUTANT_IN_FIRST
    atomic { TOUCH; out = 0 };
#else
    atomic { TOUCH; out = 0 };
    atomic { TOUCH; arrived = 0; wakes_due++; ASSERT(B2, B2_HOLDS) };
#endif
    atomic {
#ifndef MUTANT_NOBODY_HEARS_OF_ANEW
        wake_in();
#endif
        wakes_due--;
        ASSERT(B2, B2_HOLDS)
    };

left:
    if
    :: !destroys -> goto outside
    :: destroys
    fi;

    // hf_barrier_destroy, by the one to which the last wait returned PTHREAD_BARRIER_SERIAL_THREAD
    atomic { TOUCH; seen = arrived };
#ifdef MUTANT_DESTROY_DOES_NOT_WAIT
    goto destroyed_now;
#endif
#ifndef MUTANT_DESTROYED_AT_THE_LAST
    if
    :: seen == LAST -> goto wait_to_destroy
    :: else
    fi;
#endif
    atomic {
        TOUCH;
        was = out;
        out = out + LAST - seen;
        if
        :: was < seen -> was = 0; goto wait_to_destroy
        :: else -> was = 0; goto destroyed_now
        fi
    };
wait_to_destroy:
    if
    :: atomic { arrived == 0 -> TOUCH }; goto destroyed_now
    :: atomic { arrived != 0 -> TOUCH; seen = arrived }
    fi;
    sleep_on(arrived, ON_IN_TO_DESTROY);
    goto wait_to_destroy;
destroyed_now:
    destroyed = true;
    goto finished;

    // sleep_while_above, in arrive
late:
    if
    :: atomic { arrived <= LAST -> TOUCH }; goto again
    :: atomic { arrived > LAST -> TOUCH; seen = arrived }
    fi;
    sleep_on(arrived, ON_IN);
    goto late;

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
