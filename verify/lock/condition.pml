// SPDX-License-Identifier: MIT OR Apache-2.0
// Condition variables: a list of waiters, and their permits: words on their stacks.
// C code: src/lock/posix/condition.h (a waiter's states, C1 to C5), src/lock/posix/condition.c, src/preload/cond.c.
//
//     join() --> WAITING -- taken by a signal or a broadcast --> CHOSEN --> its permit --> mutex
//                   | deadline, cancellation                        ^
//                   +--> leave() --> GONE --> mutex                 | leave() comes too late
//                               +-----------------------------------+
//
// What is done under a list's lock is one step, since the store that makes the list empty, which is seen without the
// lock, is the last one; that lock's own model is word_lock.pml. So is a permit's store, and a
// wait that ends. The mutex is one that excludes and that anyone may get next. What a thread sees of the list without
// the lock (hf_condition_may_have_waiters) is a step of its own.
//
// A signaller that has the mutex owes the permits until it gives the mutex back. So destroying under the mutex must
// not wait for anybody who waits for such a permit.
//
// With MOVES a broadcast by the owner of the mutex moves its waiters to the mutex's word instead, whether they sleep at
// that time or do not yet; there each unlock that finds the word HELD_WITH_SLEEPERS wakes one. Of those who sleep for
// the mutex only they are modelled: the others' sleeps are word_lock.pml.
//
// With PRIORITIES a waiter may be a real-time thread, which goes before those that are there; and so may the chosen, of
// those whose permits are owed.
//
// The program: each thread waits, under the mutex, until it gets a token or the gate is open; or its wait ends by its
// deadline or by cancellation, and it goes. The signaller lays down TOKENS tokens, under the mutex, each with a signal
// or a broadcast, under the mutex or after it. The closer opens the gate, wakes everybody by a broadcast or by as many
// signals as there are threads, destroys the condition variable and frees its memory, at once: nobody waits any more.
// Sometimes (with -DCLOSES_WHEN_QUIET always) it starts only when all is quiet: then nobody may wait who should not.
//
// C1  A WAITING thread is in the list, and nobody else is.
// C2  A CHOSEN waiter gets its permit, once, and does not go before that: a permit is given to a waiter that is there.
// C3  No signal is lost: when all is quiet, nobody waits while there is a token.
// C4  Chosen is free: nobody touches the condition variable once it is destroyed.
// C5  A moved waiter takes the mutex as one that has slept on it. (Breaking it is a deadlock.)
// And no deadlock: all threads end.
#ifndef WAITERS
#define WAITERS 3
#endif
#ifndef TOKENS
#define TOKENS 2
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
byte first, last;
byte owed; // the first of the chosen whose permits the owner of the mutex owes, linked by next
byte waiter[WAITERS + 1]; // state
byte next[WAITERS + 1];
byte previous[WAITERS + 1];
bool by_signal[WAITERS + 1];
byte permit[WAITERS + 1]; // the words
#ifdef MOVES
bool sleepers;             // the word: HELD, or HELD_WITH_SLEEPERS
bool moved[WAITERS + 1];
bool at_mutex[WAITERS + 1]; // asleep on the word
#define SLEEPS_AT_MUTEX(who) at_mutex[who]
#define LEAVES_SLEEP(why) atomic { why = true; at_mutex[me] = false }
#else
#define SLEEPS_AT_MUTEX(who) false
#define LEAVES_SLEEP(why) why = true
#endif
#ifdef MUTANT_PERMIT_NOT_KEPT
bool sleeps[WAITERS + 1];
#endif

byte tokens;
bool open;
bool signaller_done;
bool destroyed;
byte advanced; // of one step
#define TOUCH ASSERT(C4, !destroyed)

inline lock_mutex(who) {
    atomic { mutex == NOBODY -> mutex = who }
}

#ifdef MOVES
// How a waiter takes it again (C5).
inline lock_mutex_again(who) {
    atomic {
        mutex == NOBODY -> mutex = who;
#ifndef MUTANT_MOVED_STORES_HELD
        if
        :: moved[who] -> sleepers = true; moved[who] = false
        :: !moved[who]
        fi
#endif
    }
}

// hf_waiter_move_to: a thread that sleeps at its permit does so at the mutex from then on.
inline move_to_mutex(who) {
    moved[who] = true;
#ifndef MUTANT_MOVES_UNANNOUNCED
    sleepers = true;
#endif
    if
    :: at_mutex[who] = true
    :: true // was awake
    fi;
    give_permit(who)
}

inline wake_at_mutex(wakes) {
    if
    :: atomic { wakes && at_mutex[1] -> at_mutex[1] = false }
    :: atomic { wakes && at_mutex[2] -> at_mutex[2] = false }
#if WAITERS > 2
    :: atomic { wakes && at_mutex[3] -> at_mutex[3] = false }
    :: !wakes || !(at_mutex[1] || at_mutex[2] || at_mutex[3])
#else
    :: !wakes || !(at_mutex[1] || at_mutex[2])
#endif
    fi;
    wakes = false
}
#else
#define lock_mutex_again(who) lock_mutex(who)
#endif

// One step. A post to a thread that has gone, or to its next wait, would be one to memory that is used otherwise.
inline give_permit(who) {
    ASSERT(C2, waiter[who] == CHOSEN && permit[who] == 0);
#ifdef MUTANT_PERMIT_NOT_KEPT
    permit[who] = sleeps[who]
#else
    permit[who] = 1
#endif
}

// Reads the node before the permit is given: it may be gone after that.
inline give_permit_and_advance(who) {
    d_step { advanced = next[who]; give_permit(who); who = advanced; advanced = NULL }
}

// The permits that its owner owes are given after that, one at a time; `debt` is NULL before and after.
inline unlock_mutex(debt) {
#ifdef MOVES
    atomic { debt = owed; owed = NULL; wakes = sleepers; sleepers = false; mutex = NOBODY };
    wake_at_mutex(wakes);
#else
    atomic { debt = owed; owed = NULL; mutex = NOBODY };
#endif
#ifdef MUTANT_UNLOCK_FORGETS_PERMITS
    debt = NULL;
#endif
    do
    :: atomic { debt != NULL -> give_permit_and_advance(debt) }
    :: debt == NULL -> break
    od
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

// One step: the owner of the mutex owes the permit, anybody else gives it. `chosen` is NULL afterwards.
inline give_permit_with_mutex(chosen) {
    atomic {
        if
        :: chosen != NULL && mutex == me -> next[chosen] = owed; owed = chosen; chosen = NULL
        :: chosen != NULL && mutex != me -> give_permit(chosen); chosen = NULL
        :: chosen == NULL
        fi
    }
}

// pthread_cond_signal. `chosen` is NULL before and after.
inline signal(chosen) {
    if
    :: atomic { first == NULL -> TOUCH }
    :: atomic { first != NULL -> TOUCH };
       atomic {
           TOUCH;
           if
           :: first != NULL -> chosen = first; unlink_waiter(chosen); waiter[chosen] = CHOSEN;
               by_signal[chosen] = true
           :: first == NULL
           fi
       };
       atomic {
           if
           :: chosen != NULL -> give_permit(chosen); chosen = NULL
           :: chosen == NULL
           fi
       }
    fi
}

// What a cancelled waiter does (choose_another): looks for others without touching the condition variable.
inline signal_another(chosen) {
    atomic {
#ifdef MUTANT_LOOKS_INTO_THE_CONDITION
        TOUCH;
#endif
        if
        :: first != NULL -> TOUCH; chosen = first; unlink_waiter(chosen); waiter[chosen] = CHOSEN;
            by_signal[chosen] = true
        :: first == NULL
        fi
    };
    atomic {
        if
        :: chosen != NULL -> give_permit(chosen); chosen = NULL
        :: chosen == NULL
        fi
    }
}

// pthread_cond_broadcast
inline broadcast(head, then) {
    if
    :: atomic { first == NULL -> TOUCH }
    :: atomic { first != NULL -> TOUCH };
       atomic {
           TOUCH;
           head = first;
           then = first;
           do
           :: then != NULL -> ASSERT(C1, waiter[then] == WAITING); waiter[then] = CHOSEN; then = next[then]
           :: then == NULL -> break
           od;
           first = NULL;
           last = NULL
       };
       do
       :: atomic {
              head != NULL && mutex != me ->
#ifdef MUTANT_BROADCAST_READS_AFTER_GIVING
              give_permit(head)
          };
          atomic { ASSERT(C2, waiter[head] == CHOSEN); head = next[head] }
#else
              give_permit_and_advance(head)
          }
#endif
#if WAITERS == 2
       // The mutex's owner owes the permits until it gives it back, or gives them at once: a guess decides. (With three
       // it takes twice the states.)
       :: atomic { head != NULL && mutex == me -> give_permit_and_advance(head) }
#endif
#ifdef MOVES
       :: atomic { head != NULL && mutex == me -> then = next[head]; move_to_mutex(head); head = then; then = NULL }
#else
       :: atomic { head != NULL && mutex == me -> then = next[head]; next[head] = owed; owed = head; head = then;
              then = NULL }
#ifdef PRIORITIES
       :: atomic { head != NULL && mutex == me && owed != NULL -> then = next[head]; next[head] = next[owed];
              next[owed] = head; head = then; then = NULL }
#endif
#endif
       :: head == NULL -> break
       od
    fi
}

proctype Waiter(byte me) {
    byte chosen;
    bool cancelled, timed_out;
#ifdef MOVES
    bool wakes;
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
    unlock_mutex(chosen);
#endif
    atomic {
        TOUCH;
        ASSERT(C2, permit[me] == 0);
        waiter[me] = WAITING;
#ifdef PRIORITIES
        if
        :: first != NULL -> next[me] = first; previous[first] = me; first = me; goto joined
        :: true
        fi;
#endif
        previous[me] = last;
        if
        :: last != NULL -> next[last] = me
        :: last == NULL -> first = me
        fi;
        last = me
    };
#ifdef PRIORITIES
joined:
#endif
#ifndef MUTANT_JOINS_AFTER_UNLOCK
    unlock_mutex(chosen);
#endif

    // hf_condition_sleep
#ifdef MUTANT_PERMIT_NOT_KEPT
    sleeps[me] = true;
#endif
    if
    :: true -> // until its permit
        atomic { permit[me] == 1 && !SLEEPS_AT_MUTEX(me) -> permit[me] = 0; goto taking_mutex }
    :: LEAVES_SLEEP(timed_out)
    :: LEAVES_SLEEP(cancelled)
    fi;

    // hf_waiter_leave
#ifdef MUTANT_LEAVES_UNLOOKED
    atomic { TOUCH; unlink_waiter(me); waiter[me] = GONE; goto taking_mutex };
#endif
    atomic {
#ifdef MUTANT_LIST_LOCK_IN_THE_CONDITION
        TOUCH;
#endif
        if
        :: waiter[me] == WAITING -> TOUCH; unlink_waiter(me); waiter[me] = GONE;
#ifdef MUTANT_TOUCHES_WHEN_EMPTY
            goto touching;
#endif
            goto taking_mutex
        :: waiter[me] != WAITING -> timed_out = false
        fi
    };
    // await_permit
#ifndef MUTANT_CHOSEN_DOES_NOT_AWAIT_ITS_PERMIT
    atomic { permit[me] == 1 && !SLEEPS_AT_MUTEX(me) -> permit[me] = 0 };
#endif
    if
    :: cancelled && by_signal[me] ->
#ifndef MUTANT_CANCELLED_KEEPS_THE_SIGNAL
        signal_another(chosen)
#endif
    :: cancelled && !by_signal[me]
#ifdef MUTANT_LATE_KEEPS_THE_SIGNAL
    :: !cancelled -> timed_out = true
#else
    :: !cancelled
#endif
    fi;

#ifdef MUTANT_TOUCHES_WHEN_EMPTY
touching:
    TOUCH;
#endif
taking_mutex:
    lock_mutex_again(me);
    atomic {
        ASSERT(C2, permit[me] == 0);
        waiter[me] = OUT;
#ifdef MUTANT_PERMIT_NOT_KEPT
        sleeps[me] = false;
#endif
        next[me] = NULL;
        previous[me] = NULL;
        by_signal[me] = false;
        if
        :: timed_out || cancelled
        :: else -> goto looking
        fi
    };
ending:
    unlock_mutex(chosen)
}

proctype Signaller(byte me) {
    byte chosen, then, given;
#ifdef MOVES
    bool wakes;
#endif

giving:
    lock_mutex(me);
    atomic { tokens++; given++ };
    if
    :: true -> unlock_mutex(chosen)
    :: true
    fi;
    if
    :: true -> broadcast(chosen, then)
    :: true -> signal(chosen)
    fi;
    if
    :: mutex == me -> unlock_mutex(chosen)
    :: mutex != me
    fi;
    if
    :: given < TOKENS -> goto giving
    :: given == TOKENS -> signaller_done = true
    fi
}

proctype Closer(byte me) {
    byte chosen, then, given;
#ifdef MOVES
    bool wakes;
#endif

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
    :: true -> unlock_mutex(chosen)
    :: true
    fi;
    if
    :: true -> broadcast(chosen, then)
#ifndef CLOSES_BY_BROADCAST
    :: true ->
        do
        :: given < WAITERS -> given++; signal(chosen)
        :: given == WAITERS -> given = 0; break
        od
#endif
    fi;
    // Destroys it under the mutex, or after it.
    if
    :: mutex == me -> unlock_mutex(chosen)
    :: mutex != me || signaller_done
    fi;
    signaller_done;
    destroyed = true;
    if
    :: mutex == me -> unlock_mutex(chosen)
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
