// SPDX-License-Identifier: MIT OR Apache-2.0
// k-SCL: who gets the lock next, who is woken for it, and who wakes by itself.
// C code: kernel/kscl.c. What is done under the guard is one step; the states are drawn there.
//
// Virtual times are a choice: which waiters are in debt, whether somebody idle has used less than they have, and a
// thread that is least far of those that may have the lock. So nothing rests on the arithmetic of shares. What is kept
// of it: a debt is paid at some time; an idle thread is forgotten at some time; both make a banned waiter eligible, and
// an idle thread that comes makes one eligible, too, if no other is idle. Each thread takes the lock any number of
// times, in each way, or ends.
//
// K1  Exclusion.
// K2  While the lock is free no waiter may have it: each of them is banned.
// K3, K4: no deadlock. Nobody wakes by itself but a banned waiter, when its ban may be over.
#ifndef THREADS
#define THREADS 3
#endif

// Always 0. ASSERT(K1, x) fails as "(K1||x)", by which the check script knows the invariant.
bit K1, K2;
#define ASSERT(invariant, condition) assert(invariant || (condition))

#define NOBODY 0
mtype = { APART, IDLE, BANNED, READY, OWNER }

mtype state[THREADS + 1] = APART; // APART: forgotten, or not here yet
byte owner;
byte inside;               // ghost: how many threads believe that the lock is theirs
bool granted[THREADS + 1];
bool called[THREADS + 1];  // woken, or on its way to sleep
bool paid[THREADS + 1];    // the debt is, by the clock: a BANNED waiter has not seen that yet
byte spinner;
byte signals = 2;          // that there still may be
byte spins = 2;            // likewise

#if THREADS == 2
#define SOMEBODY_IDLE (state[1] == IDLE || state[2] == IDLE)
#else
#define SOMEBODY_IDLE (state[1] == IDLE || state[2] == IDLE || state[3] == IDLE)
#endif

// kscl_is_banned, or not: a thread that is READY never is.
#define MAY_HAVE_IT(who) (state[who] == READY || (state[who] == BANNED && (paid[who] || !SOMEBODY_IDLE)))

#if THREADS == 2
#define SOMEBODY_MAY_HAVE_IT (MAY_HAVE_IT(1) || MAY_HAVE_IT(2))
#define SOMEBODY_READY (state[1] == READY || state[2] == READY)
#define SOMEBODY_BANNED (state[1] == BANNED || state[2] == BANNED)
#else
#define SOMEBODY_MAY_HAVE_IT (MAY_HAVE_IT(1) || MAY_HAVE_IT(2) || MAY_HAVE_IT(3))
#define SOMEBODY_READY (state[1] == READY || state[2] == READY || state[3] == READY)
#define SOMEBODY_BANNED (state[1] == BANNED || state[2] == BANNED || state[3] == BANNED)
#endif

inline grant(who) {
    owner = who;
    state[who] = OWNER;
    paid[who] = false;
    if
    :: spinner == who -> spinner = NOBODY
#ifndef MUTANT_GRANTED_NOT_WOKEN
    :: spinner != who -> called[who] = true
#else
    :: else
#endif
    fi;
    granted[who] = true
}

// kscl_choose. Any of those that may have it is the one that is least far.
inline kscl_choose() {
    if
#ifndef MUTANT_CHOOSES_WHILE_HELD
    :: owner != NOBODY
#endif
    :: owner == NOBODY && !SOMEBODY_MAY_HAVE_IT
#ifndef MUTANT_CHOOSES_WHILE_HELD
    :: owner == NOBODY && MAY_HAVE_IT(1) -> grant(1)
    :: owner == NOBODY && MAY_HAVE_IT(2) -> grant(2)
#if THREADS > 2
    :: owner == NOBODY && MAY_HAVE_IT(3) -> grant(3)
#endif
#else
    :: MAY_HAVE_IT(1) -> grant(1)
    :: MAY_HAVE_IT(2) -> grant(2)
    :: owner != NOBODY
#endif
    fi
}

// At the end of each operation under the guard. A debt that is paid by now is seen when its waiter looks.
#define CHECK_K2 ASSERT(K2, owner != NOBODY || (!SOMEBODY_READY && (SOMEBODY_IDLE || !SOMEBODY_BANNED)))

// kscl_forget: some idle threads, or none.
inline kscl_forget() {
    if
    :: state[1] == IDLE -> state[1] = APART
    :: true
    fi;
    if
    :: state[2] == IDLE -> state[2] = APART
    :: true
    fi
#if THREADS > 2
    ;
    if
    :: state[3] == IDLE -> state[3] = APART
    :: true
    fi
#endif
}

inline enter() {
    inside++;
    ASSERT(K1, inside == 1)
}

proctype Thread(byte me) {
outside:
    if
    :: goto finished
    // kscl_trylock
#ifdef MUTANT_TRYLOCK_CHECKS_THEN_STORES
    :: owner == NOBODY; atomic { owner = me; state[me] = OWNER; enter() }; goto holding
#else
    :: atomic { owner == NOBODY -> owner = me; state[me] = OWNER; enter() }; goto holding
#endif
    // kscl_acquire: comes, in debt or not
    :: atomic {
           if
           :: state[me] = BANNED
           :: state[me] = READY
           fi;
           paid[me] = false;
           kscl_forget();
#ifndef MUTANT_COMES_WITHOUT_CHOOSING
           kscl_choose();
#endif
           CHECK_K2
       }
    fi;

waiting:
    // Under the guard, and then on the way to sleep.
    atomic {
        if
#ifndef MUTANT_LEAVES_UNLOOKED
        :: granted[me] -> goto got_it
#endif
        :: else
        fi;
        if
        // A signal.
        :: signals > 0 ->
            signals--;
            state[me] = IDLE;
            CHECK_K2;
            goto outside
        :: spins > 0 && spinner == NOBODY && state[me] == READY && owner != NOBODY ->
            spins--;
            spinner = me;
            goto spinning
        :: true
        fi
    };

    // kscl_sleep: sets the task's state, then looks once more. A wake-up before that changes nothing.
    called[me] = false;
#ifndef MUTANT_SLEEPS_UNCHECKED
    if
    :: granted[me] -> goto look
    :: else
    fi;
#endif
    if
    :: called[me]
#ifndef MUTANT_BANNED_SLEEPS_UNTIMED
    // K3: the debt is paid, or nobody idle is left for whose sake to wait.
    :: atomic { state[me] == BANNED -> paid[me] = true }
#endif
    // A signal wakes.
    :: signals > 0
    fi;

look:
    atomic {
        if
        :: granted[me] -> goto got_it
        :: else
        fi;
        if
        :: state[me] == BANNED && paid[me] -> state[me] = READY
        :: else
        fi;
        kscl_forget();
#ifndef MUTANT_LOOKS_WITHOUT_CHOOSING
        kscl_choose();
#endif
        CHECK_K2
    };
    goto waiting;

spinning:
    if
    :: granted[me] -> goto got_it
    // The owner is not at work any more, or somebody else needs this CPU. Under the guard:
    :: true
    fi;
#ifndef MUTANT_SPINNER_STAYS
    atomic {
        if
        :: spinner == me -> spinner = NOBODY
        :: else
        fi
    };
#endif
    goto look;

got_it:
    atomic {
        granted[me] = false;
        called[me] = false;
        enter()
    };

holding:
    // kscl_unlock
    atomic {
        inside--;
        state[me] = IDLE;
        owner = NOBODY;
        kscl_forget();
#ifndef MUTANT_UNLOCK_DOES_NOT_CHOOSE
        kscl_choose();
#endif
        CHECK_K2
    };
    goto outside;

finished:
    skip // its share is forgotten by a thread that looks
}

init {
    atomic {
        byte thread;
        for (thread : 1 .. THREADS) {
            run Thread(thread)
        }
    }
}
