// SPDX-License-Identifier: MIT OR Apache-2.0
// Condition variables are left to glibc's functions while threads use them: one condition variable, a waiter, a
// signaller and the closer; or, in the signaller's place, a library that knows glibc's functions alone. C code:
// hf_policy_leave_objects_to_glibc in src/preload/policy.c, hf_conditions_close in src/lock/posix/condition.c,
// src/preload/cond.c.
//
//     policy:               OURS --- LEFT_ONE_BY_ONE ---------------------- GLIBCS
//     this one, meanwhile:                  closed, under its list's lock: waiters are woken, and new ones refused
//
// C6  glibc's functions come to a condition variable only when nobody waits for it by ours.
// And no deadlock: the waiter ends, so no signal is lost.
bit C6;
#define ASSERT(invariant, condition) assert(invariant || (condition))

mtype = { OURS, LEFT_ONE_BY_ONE, GLIBCS };

mtype policy = OURS;
bool closed;          // under the list's lock
bool waits_by_ours;   // likewise
bool waits_by_glibcs;
bool mutex;
bool predicate;       // what is waited for
bool library_is_there;

inline lock() {
    atomic { !mutex -> mutex = true }
}

inline unlock() {
    mutex = false
}

// Whether a call is ours, as preload/cond.c asks.
inline ask(is_ours) {
    mtype_seen = policy;
    if
    :: mtype_seen == OURS -> is_ours = true
    :: mtype_seen == GLIBCS -> is_ours = false
    :: mtype_seen == LEFT_ONE_BY_ONE -> is_ours = !closed
    fi
}

inline signal_by_glibcs() {
    atomic { ASSERT(C6, !waits_by_ours); waits_by_glibcs = false }
}

proctype Waiter() {
    mtype mtype_seen;
    bool is_ours;

    lock();
    do
    :: predicate -> break
    :: !predicate ->
        ask(is_ours);
        if
        :: is_ours ->
            atomic { // join
                if
#ifdef MUTANT_DOES_NOT_REFUSE
                :: true -> waits_by_ours = true
#else
                :: !closed -> waits_by_ours = true
                :: closed -> is_ours = false
#endif
                fi
            }
        :: !is_ours
        fi;
        if
        :: is_ours -> unlock(); !waits_by_ours
        :: !is_ours ->
            atomic { ASSERT(C6, !waits_by_ours); waits_by_glibcs = true };
            unlock();
            !waits_by_glibcs
        fi;
        lock()
    od;
    unlock()
}

#ifdef LIBRARY_SIGNALS
// Once it is loaded.
proctype Library() {
    library_is_there;
    lock();
    predicate = true;
    signal_by_glibcs();
    unlock()
}
#else
// Of the program; with the mutex, or after it.
proctype Signaller() {
    mtype mtype_seen;
    bool is_ours, keeps_mutex;

    if
    :: keeps_mutex = true
    :: keeps_mutex = false
    fi;
    lock();
    predicate = true;
    if
    :: !keeps_mutex -> unlock()
    :: keeps_mutex
    fi;
    ask(is_ours);
    if
    :: is_ours -> waits_by_ours = false
    :: !is_ours -> signal_by_glibcs()
    fi;
    if
    :: keeps_mutex -> unlock()
    :: !keeps_mutex
    fi
}
#endif

proctype Closer() {
#ifdef MUTANT_ALL_AT_ONCE
    policy = GLIBCS;
#else
#ifndef MUTANT_CLOSES_UNSEEN
    policy = LEFT_ONE_BY_ONE;
#endif
#endif
#ifdef MUTANT_WAKES_NOBODY
    closed = true;
#else
    atomic { closed = true; waits_by_ours = false };
#endif
    policy = GLIBCS;
    library_is_there = true
}

init {
    atomic {
        run Waiter();
        run Closer();
#ifdef LIBRARY_SIGNALS
        run Library()
#else
        run Signaller()
#endif
    }
}
