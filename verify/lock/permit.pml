// SPDX-License-Identifier: MIT OR Apache-2.0
// A waiter's permit at a condition variable: the word that it sleeps on, with the kernel's compare, and every way out
// of the sleep: the permit, a deadline, a cancellation at any instruction. C code: hf_condition_sleep, hf_waiter_leave,
// hf_waiter_give_permit, hf_waiter_move_to in src/lock/posix/condition.c. condition.pml has lists, mutex and several
// waiters, and takes a permit for one step.
//
//     NONE --- the waiter is about to sleep ---> ASLEEP
//     NONE, ASLEEP --- the chooser gives it (and wakes whom it finds ASLEEP) ---> GIVEN
//
// MOVES: the chooser moves the sleep to the mutex's word, which somebody wakes later.
// TOGETHER: it moves the sleep to a word where several are gathered, and wakes that (hf_waiters_give_permits).
//
// C2  A CHOSEN waiter does not go before its permit, so its node is there as long as the chooser touches it.
// And no deadlock: the waiter ends, however it is chosen (C8, with TOGETHER), and though a signal may end its sleep.
bit C2;
#define ASSERT(invariant, condition) assert(invariant || (condition))

mtype = { NONE, ASLEEP, GIVEN, WAITING, CHOSEN, GONE, AWAKE, ON_PERMIT, ON_MUTEX, ON_TOGETHER };

mtype permit = NONE;
mtype state = WAITING;
mtype sleep = AWAKE; // the kernel's: on which word the waiter sleeps
bool node_is_gone;   // ghost

inline touch() {
    ASSERT(C2, !node_is_gone)
}

inline gather() {
    atomic {
        if
        :: sleep == ON_PERMIT -> sleep = ON_TOGETHER
        :: else
        fi
    }
}

inline wake(where) { // by the address alone
    atomic {
        if
        :: before == ASLEEP && sleep == where -> sleep = AWAKE
        :: else
        fi
    }
}

proctype Waiter() {
    bool may_leave = true; // by its deadline, or cancelled
    bool may_be_disturbed = true; // by a signal

    if // polls first, or not
    :: permit == GIVEN -> goto out
    :: true
    fi;

falls_asleep:
#ifdef MUTANT_STORES_ASLEEP
    permit = ASLEEP;
#else
    atomic {
        if
        :: permit == NONE -> permit = ASLEEP
        :: else
        fi
    };
#endif

looks:
    if
    :: permit == GIVEN -> goto out
    :: permit != GIVEN
    :: may_leave -> goto leaves
    fi;
    atomic {
        if
#ifdef MUTANT_SLEEPS_UNCOMPARED
        :: true -> sleep = ON_PERMIT
#else
        :: permit == ASLEEP -> sleep = ON_PERMIT
        :: else -> goto looks
#endif
        fi
    };
    if
    :: sleep == AWAKE -> goto looks
    :: atomic { may_be_disturbed -> may_be_disturbed = false; sleep = AWAKE }; goto looks
    :: atomic { may_leave -> sleep = AWAKE }
    fi;

leaves: // under the list's lock
    may_leave = false;
    atomic {
        if
        :: state == WAITING -> state = GONE; goto out
        :: state == CHOSEN
        fi
    };
#ifdef MUTANT_LEAVES_BEFORE_ITS_PERMIT
    goto out;
#endif
    goto falls_asleep;

out:
    node_is_gone = true
}

proctype Chooser() {
    mtype before;

    atomic { // under the list's lock
        if
        :: state == WAITING -> state = CHOSEN
        :: state == GONE -> goto finished
        fi
    };
#ifdef MOVES
    touch();
    atomic {
        if
        :: sleep == ON_PERMIT -> sleep = ON_MUTEX
        :: else
        fi
    };
#endif
#ifdef MUTANT_GATHERS_BEFORE_GIVING
    gather();
#endif
    touch();
#ifdef MUTANT_GIVES_UNLOOKED
    before = permit;
    permit = GIVEN;
#else
    atomic { before = permit; permit = GIVEN };
#endif
#ifdef MUTANT_TOUCHES_AFTER_GIVING
    touch();
#endif
#ifdef TOGETHER
#ifndef MUTANT_GATHERS_BEFORE_GIVING
    if
    :: before == ASLEEP -> gather()
    :: else
    fi;
#endif
    wake(ON_TOGETHER);
#else
    wake(ON_PERMIT);
#endif

#ifdef MOVES
#ifndef MUTANT_NOBODY_UNLOCKS
    do // an unlock of the mutex, which the chooser has
    :: atomic { sleep == ON_MUTEX -> sleep = AWAKE }
    :: node_is_gone -> break
    od;
#endif
#endif

finished:
    skip
}

init {
    atomic {
        run Waiter();
        run Chooser()
    }
}
