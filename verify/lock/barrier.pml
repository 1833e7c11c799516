// SPDX-License-Identifier: MIT OR Apache-2.0
// The barrier: a ticket says the round, `rounds` says how many rounds were full, `left` when the memory is free.
// C code: src/lock/posix/barrier.h (B1, B2, B3), src/lock/posix/barrier.c.
//
//     ticket, not the last of its round --> polls, sleeps --- rounds > round --> + 1 to left --> out
//     ticket, the last of its round ------> + 1 to rounds, wakes all ----------> + 1 to left --> out
//
// One step is one atomic instruction, or the work of one futex call inside the kernel. There are more threads than
// COUNT, so several rounds are under way at once. Each thread comes any number of times, until FULL_ROUNDS rounds have
// their tickets; then one that came out of the last of them destroys the barrier, while others are still on their way
// out. How a sleep ends is modelled as in lock_word.inc.
//
// B1  Together. Nobody leaves before all tickets of its round are taken.
// B2  Nobody stays: nobody sleeps whose round is over, unless somebody is on its way to wake all. And no deadlock.
// B3  `left` is the last touch: of those that were let go, nobody touches the barrier after it was destroyed.
#ifndef THREADS
#define THREADS 4
#endif
#ifndef COUNT
#define COUNT 2
#endif
#ifndef FULL_ROUNDS
#define FULL_ROUNDS 3
#endif

bit B1, B2, B3;
#define ASSERT(invariant, condition) assert(invariant || (condition))

byte tickets;
byte rounds;
byte have_left; // `left`; Spin has a variable of that name

byte to_come = COUNT * FULL_ROUNDS; // ghost: tickets that are still to be taken
byte wakes_due;                     // ghost: those that were last and have not woken the others yet
bool destroyed;
#define TOUCH ASSERT(B3, !destroyed)

bool asleep[THREADS + 1];
byte round_of[THREADS + 1];

#define FORGOTTEN(t) (asleep[t] && rounds > round_of[t])
#if THREADS == 3
#define ANY(is) (is(1) || is(2) || is(3))
#elif THREADS == 4
#define ANY(is) (is(1) || is(2) || is(3) || is(4))
#endif
#define B2_HOLDS (!ANY(FORGOTTEN) || wakes_due > 0)

#ifdef MUTANT_OVER_WHEN_ANOTHER
#define IS_OVER (rounds != round_of[me])
#else
#define IS_OVER (rounds > round_of[me])
#endif

// hf_futex_wake(&barrier->rounds, INT_MAX)
inline wake_all() {
#ifdef MUTANT_WAKES_ONE
    if
    :: asleep[1] -> asleep[1] = false
    :: asleep[2] -> asleep[2] = false
    :: asleep[3] -> asleep[3] = false
    :: asleep[4] -> asleep[4] = false
    :: else
    fi
#else
    asleep[1] = false;
    asleep[2] = false;
    asleep[3] = false;
#if THREADS > 3
    asleep[4] = false
#endif
#endif
}

proctype Thread(byte me) {
    byte ticket, seen;
    bool last;

    // hf_barrier_wait
outside:
    if
    :: atomic {
           to_come > 0 -> to_come--;
           TOUCH;
           ticket = tickets;
#ifndef MUTANT_TICKET_LOADED_THEN_STORED
           tickets++
#endif
       }
    :: to_come == 0 -> goto finished
    fi;
#ifdef MUTANT_TICKET_LOADED_THEN_STORED
    tickets = ticket + 1;
#endif
#ifdef MUTANT_LEFT_FIRST
    atomic { TOUCH; have_left++ };
#endif
    atomic {
        TOUCH; // the count
        round_of[me] = ticket / COUNT;
        last = (ticket % COUNT == COUNT - 1);
        ticket = 0;
        if
        :: last
        :: !last -> goto waiting
        fi
    };
#ifdef MUTANT_WAKES_BEFORE
    wake_all();
#endif
#if defined(MUTANT_ROUND_STORED)
    atomic { TOUCH; rounds = round_of[me] + 1; wakes_due++; ASSERT(B2, B2_HOLDS) };
#elif defined(MUTANT_ROUNDS_LOADED_THEN_STORED)
    atomic { TOUCH; seen = rounds };
    atomic { TOUCH; rounds = seen + 1; seen = 0; wakes_due++; ASSERT(B2, B2_HOLDS) };
#else
    atomic { TOUCH; rounds++; wakes_due++; ASSERT(B2, B2_HOLDS) };
#endif
    atomic {
#if !defined(MUTANT_NEVER_WAKES) && !defined(MUTANT_WAKES_BEFORE)
        wake_all();
#endif
        wakes_due--;
        ASSERT(B2, B2_HOLDS)
    };
    goto leaving;

    // wait_for_end_of
waiting:
    if
    :: atomic { IS_OVER -> TOUCH }; goto leaving
    :: atomic { !IS_OVER -> TOUCH; seen = rounds }
    fi;
    if
    :: atomic {
#ifndef MUTANT_SLEEPS_UNCHECKED
           rounds == seen ->
#endif
           TOUCH; seen = 0; asleep[me] = true; ASSERT(B2, B2_HOLDS)
       };
       if
       :: !asleep[me]
#ifdef SLEEP_ENDS_BY_ITSELF
       :: atomic { asleep[me] -> asleep[me] = false }
#endif
       fi
    :: seen = 0 // it was another, a signal, a stray wake
    fi;
    goto waiting;

leaving:
    atomic {
        ASSERT(B1, tickets >= (round_of[me] + 1) * COUNT);
#ifndef MUTANT_LEFT_FIRST
        TOUCH;
        have_left++;
#endif
        if
        :: last && round_of[me] == FULL_ROUNDS - 1 -> round_of[me] = 0
        :: else -> round_of[me] = 0; last = false; goto outside
        fi
    };

    // hf_barrier_destroy, by the one to which the last wait returned PTHREAD_BARRIER_SERIAL_THREAD
    atomic { TOUCH; ticket = tickets };
#ifndef MUTANT_DESTROY_DOES_NOT_WAIT
    atomic { have_left == ticket - ticket % COUNT -> destroyed = true };
#else
    destroyed = true;
#endif
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
