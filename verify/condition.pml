// SPDX-License-Identifier: MIT OR Apache-2.0
// Condition variables: a list of waiters, semaphores on their stacks, turns that are passed on.
// C code: src/lock/condition.h (a waiter's states, C1 to C4), src/lock/condition.c, src/preload/cond.c.
//
//     join() --> WAITING -- taken by a signal or a broadcast --> CHOSEN --> its turn --> mutex --> passes the turn on
//                   | deadline, cancellation                        ^
//                   +--> leave() --> GONE --> mutex                 | leave() comes too late
//                               +-----------------------------------+
//
// What is done under a list's lock is one step; that lock's own model is word_lock.pml. So is a semaphore's post, and a
// wait that ends. The mutex is one that excludes and that anyone may get next. What a thread sees of the list without
// the lock (nobody_waits) is a step of its own.
//
// The program: each thread waits, under the mutex, until it gets a token or the gate is open; or its wait ends by its
// deadline or by cancellation, and it goes. The signaller lays down TOKENS tokens, under the mutex, each with a signal
// or a broadcast, under the mutex or after it. The closer opens the gate, wakes everybody by a broadcast or by as many
// signals as there are threads, destroys the condition variable and frees its memory, at once: nobody waits any more.
// Sometimes, and with -DCLOSES_WHEN_QUIET always, it starts only when all is quiet: then nobody may wait who should not.
//
// C1  Who waits is in the list, who is in the list is WAITING.
// C2  A CHOSEN waiter gets its turn, once, and does not go before that: who gives a turn gives it to one who is there.
// C3  No signal is lost: when all is quiet, nobody waits while there is a token.
// C4  Chosen is free: nobody touches the condition variable after hf_condition_destroy has returned.
// And no deadlock: all threads end.
#ifndef WAITERS
#define WAITERS 3
#endif
#ifndef TOKENS
#define TOKENS 2
#endif
#ifndef CHAINS
#define CHAINS 1 // CPUs
#endif

#define NULL 0
#define NOBODY 0

// enum hf_waiter_state; OUT, of the model: not in a wait, so the node is no node
#define OUT 0
#define WAITING 1
#define CHOSEN 2
#define GONE 3

bit C1, C2, C3, C4;
#define ASSERT(invariant, condition) assert(invariant || (condition))

byte mutex; // its owner
byte first, last, in_debt;
byte waiter[WAITERS + 1]; // state
byte next[WAITERS + 1];
byte previous[WAITERS + 1];
bool by_signal[WAITERS + 1];
byte turn[WAITERS + 1]; // the semaphores
#ifdef MUTANT_TURN_NOT_KEPT
bool sleeps[WAITERS + 1];
#endif

byte tokens;
bool open;
bool signaller_done;
bool destroyed;
#define TOUCH ASSERT(C4, !destroyed)

inline lock_mutex(who) {
    atomic { mutex == NOBODY -> mutex = who }
}

inline unlink_waiter(who) {
    ASSERT(C1, waiter[who] == WAITING);
    if
    :: previous[who] != NULL -> next[previous[who]] = next[who]
    :: previous[who] == NULL -> first = next[who]
    fi;
    if
    :: next[who] != NULL -> previous[next[who]] = previous[who]
    :: next[who] == NULL -> last = previous[who]
    fi;
    next[who] = NULL;
    previous[who] = NULL
}

// One step. A post to a thread that has gone, or to its next wait, would be one to memory that is used otherwise.
inline give_turn(who) {
    ASSERT(C2, waiter[who] == CHOSEN && turn[who] == 0);
#ifdef MUTANT_TURN_NOT_KEPT
    turn[who] = sleeps[who]
#else
    turn[who] = 1
#endif
}

// hf_condition_signal. `chosen` is NULL before and after.
inline signal(chosen) {
    if
    :: atomic { first == NULL -> TOUCH }
    :: atomic { first != NULL -> TOUCH };
       atomic {
           TOUCH;
           if
           :: first != NULL -> chosen = first; unlink_waiter(chosen); waiter[chosen] = CHOSEN;
               by_signal[chosen] = true; in_debt++
           :: first == NULL
           fi
       };
       atomic {
           if
           :: chosen != NULL -> give_turn(chosen); chosen = NULL
           :: chosen == NULL
           fi
       }
    fi
}

hidden byte at, after, ahead, heads_left; // of choose_all, one step

// choose_all: the first CHAINS waiters are heads of chains, linked by `previous`.
inline choose_all(head) {
    d_step {
        heads_left = CHAINS;
        ahead = head;
        do
        :: ahead != NULL && heads_left > 0 -> ahead = next[ahead]; heads_left--
        :: else -> break
        od;
        heads_left = CHAINS;
        at = head;
        do
        :: at != NULL ->
            ASSERT(C1, waiter[at] == WAITING);
            after = next[at];
            waiter[at] = CHOSEN;
            if
            :: heads_left > 1 -> heads_left--; previous[at] = after
            :: else -> heads_left = 0; previous[at] = NULL
            fi;
            next[at] = ahead;
            if
            :: ahead != NULL -> ahead = next[ahead]
            :: else
            fi;
            at = after
        :: else -> break
        od;
        first = NULL;
        last = NULL
    }
}

// hf_condition_broadcast
inline broadcast(head, then) {
    if
    :: atomic { first == NULL -> TOUCH }
    :: atomic { first != NULL -> TOUCH };
       atomic { TOUCH; head = first; choose_all(head) };
       do
       :: atomic {
              head != NULL ->
#ifdef MUTANT_BROADCAST_READS_AFTER_GIVING
              give_turn(head)
          };
          atomic { ASSERT(C2, waiter[head] == CHOSEN); head = previous[head] }
#else
              then = previous[head]; give_turn(head); head = then; then = NULL
          }
#endif
       :: head == NULL -> break
       od
    fi
}

proctype Waiter(byte me) {
    byte chosen;
    bool cancelled, timed_out;
#ifdef MUTANT_LATE_KEEPS_THE_TURN
    bool late; // chosen, but its deadline was first
#endif

working:
    lock_mutex(me);
looking:
    if
    :: atomic { open || tokens > 0 -> tokens = tokens - (!open) }; goto ending
    :: !(open || tokens > 0)
    fi;

    // hf_condition_join
#ifdef MUTANT_JOINS_AFTER_UNLOCK
    mutex = NOBODY;
#endif
    atomic {
        TOUCH;
        ASSERT(C2, turn[me] == 0);
        waiter[me] = WAITING;
        previous[me] = last;
        if
        :: last != NULL -> next[last] = me
        :: last == NULL -> first = me
        fi;
        last = me
    };
#ifndef MUTANT_JOINS_AFTER_UNLOCK
    mutex = NOBODY;
#endif

    // hf_condition_sleep
#ifdef MUTANT_TURN_NOT_KEPT
    sleeps[me] = true;
#endif
    if
    :: true -> // until its turn
        atomic { turn[me] == 1 -> turn[me] = 0; goto accepting }
    :: timed_out = true
    :: cancelled = true
    fi;

    // hf_condition_leave, hf_condition_leave_cancelled: leave_list
#ifdef MUTANT_LEAVES_UNLOOKED
    atomic { TOUCH; unlink_waiter(me); waiter[me] = GONE; goto taking_mutex };
#endif
    atomic {
#ifdef MUTANT_LIST_LOCK_IN_THE_CONDITION
        TOUCH;
#endif
        if
        :: waiter[me] == WAITING -> TOUCH; unlink_waiter(me); waiter[me] = GONE; goto taking_mutex
        :: waiter[me] != WAITING ->
#ifdef MUTANT_LATE_KEEPS_THE_TURN
            late = timed_out;
#endif
            timed_out = false
        fi
    };
    // await_turn
#ifndef MUTANT_CHOSEN_DOES_NOT_AWAIT_ITS_TURN
    atomic { turn[me] == 1 -> turn[me] = 0 };
#endif
    if
    :: cancelled && by_signal[me] ->
#ifdef MUTANT_DEBT_SETTLED_FIRST
        atomic { TOUCH; in_debt--; by_signal[me] = false };
#endif
#ifndef MUTANT_CANCELLED_KEEPS_THE_SIGNAL
        signal(chosen)
#endif
    :: cancelled && !by_signal[me] -> goto taking_mutex
#ifdef MUTANT_LATE_KEEPS_THE_SIGNAL
    :: !cancelled -> timed_out = true
#else
    :: !cancelled
#endif
    fi;

    // hf_condition_accept, settle_debt
accepting:
    if
#ifndef MUTANT_DEBT_NEVER_SETTLED
    :: atomic { by_signal[me] -> TOUCH; in_debt--; by_signal[me] = false }
    :: !by_signal[me]
#else
    :: by_signal[me] = false
#endif
    fi;

    // take_mutex_again
taking_mutex:
    lock_mutex(me);
    atomic { // hf_condition_pass_turn
        if
#if defined(MUTANT_CANCELLED_KEEPS_THE_TURN)
        :: waiter[me] == CHOSEN && next[me] != NULL && !cancelled -> give_turn(next[me])
#elif defined(MUTANT_LATE_KEEPS_THE_TURN)
        :: waiter[me] == CHOSEN && next[me] != NULL && !late -> give_turn(next[me])
#else
        :: waiter[me] == CHOSEN && next[me] != NULL -> give_turn(next[me])
#endif
        :: else
        fi;
#ifdef MUTANT_TURN_NOT_KEPT
        sleeps[me] = false;
#endif
    };
    atomic {
        ASSERT(C2, turn[me] == 0);
        waiter[me] = OUT;
        next[me] = NULL;
        previous[me] = NULL;
        if
        :: timed_out || cancelled
        :: else -> goto looking
        fi
    };
ending:
    mutex = NOBODY
}

proctype Signaller(byte me) {
    byte chosen, then, given;

giving:
    lock_mutex(me);
    atomic { tokens++; given++ };
    if
    :: true -> mutex = NOBODY
    :: true
    fi;
    if
    :: true -> broadcast(chosen, then)
    :: true -> signal(chosen)
    fi;
    if
    :: atomic { mutex == me -> mutex = NOBODY }
    :: mutex != me
    fi;
    if
    :: given < TOKENS -> goto giving
    :: given == TOKENS -> signaller_done = true
    fi
}

proctype Closer(byte me) {
    byte chosen, then, given;

    if
#ifndef CLOSES_WHEN_QUIET
    :: true
#endif
    :: true ->
        timeout -> // all is quiet
        atomic {
            ASSERT(C2, waiter[1] != CHOSEN && waiter[2] != CHOSEN);
#if WAITERS > 2
            ASSERT(C2, waiter[3] != CHOSEN);
#endif
            ASSERT(C3, first == NULL || tokens == 0)
        }
    fi;
    lock_mutex(me);
    open = true;
    if
    :: true -> mutex = NOBODY
    :: true
    fi;
    if
    :: true -> broadcast(chosen, then)
    :: true ->
        do
        :: given < WAITERS -> given++; signal(chosen)
        :: given == WAITERS -> given = 0; break
        od
    fi;
    // Destroys it under the mutex, or after it.
    if
    :: atomic { mutex == me -> mutex = NOBODY }
    :: mutex != me || signaller_done
    fi;
    signaller_done;
    // hf_condition_destroy
#ifdef MUTANT_DESTROY_DOES_NOT_WAIT
    destroyed = true;
#else
    atomic { in_debt == 0 -> destroyed = true };
#endif
    if
    :: atomic { mutex == me -> mutex = NOBODY }
    :: mutex != me
    fi
}

init {
    atomic {
        byte thread;
        for (thread : 1 .. WAITERS) {
            run Waiter(thread)
        }
        run Signaller(WAITERS + 1);
        run Closer(WAITERS + 2)
    }
}
