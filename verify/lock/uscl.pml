// SPDX-License-Identifier: MIT OR Apache-2.0
// Slices before the lock word: who may come to the word, who keeps the time, who chooses.
// C code: src/lock/scl/slices.c (one operation under the guard is one step), src/lock/scl/slice_wait.c,
// src/lock/scl/uscl_lock.c.
//
//                 gets the word             time                      chosen
//     PENDING ---------------> RUNNING ------------> OVER --> NOBODYS ------> PENDING
//
// The word's own protocol is checked in word_lock.pml and flexguard.pml: here a thread that wants the word waits until
// it is free, in one step. Each thread is a class of its own. It locks any number of times, or ends, in its own slice
// too. Time is a choice: whenever a thread looks at a RUNNING slice it may be OVER from then on; a timekeeper asleep
// can be sure that it will be. The next is any waiter, or nobody, as if all were banned: so nothing rests on the
// arithmetic of shares.
//
// One thread may stop wherever it waits, chosen or not, until all others have ended: its signal handler waits for them.
// Then the others see that it is late (U2) or keeps no time (U6). Besides, that may seem so once of a thread that runs.
//
// Sections of its own slice a thread may leave untimed: they do not see that it is over, and do not choose. Never the
// first one, which is all that a slice of no length has (U7).
//
// Checked: I1; no deadlock, that is U1, U2 and U6, as nobody but a timekeeper wakes by itself; U1 by its assertion,
// too; U3.
#ifndef THREADS
#define THREADS 3
#endif

// Always 0. ASSERT(U1, x) fails as "(U1||x)", by which the check script knows the invariant.
bit I1, U1, U3;
#define ASSERT(invariant, condition) assert(invariant || (condition))

#define NOBODY 0
mtype = { NOBODYS, PENDING, RUNNING, OVER }

mtype state = NOBODYS;
byte owner;            // whose slice it is
bool inside;           // the word
byte timekeeper;
bool timekeeper_in_time;   // it looks when the state's time has come, and not later
bool waits[THREADS + 1]; // in the queue
bool chosen[THREADS + 1];
bool called[THREADS + 1]; // woken, or on its way to sleep: looks before it sleeps
bool ended_slice;      // the slice has no length: its first section ends it
bool knows[THREADS + 1]; // that it is the timekeeper, and when to look
byte bans = 2;         // that there still may be
byte timeouts = 1;
byte errors = 1;       // that a thread that runs may be taken for one that does not
byte stopped;          // the thread that has stopped
bool has_stopped;
byte ended;            // threads

#if THREADS == 2
#define SOMEBODY_WAITS (waits[1] || waits[2])
#else
#define SOMEBODY_WAITS (waits[1] || waits[2] || waits[3])
#endif

#define TIME_IS_KEPT                                                                                                   \
    (!SOMEBODY_WAITS || state == PENDING || (state == OVER && ended_slice && inside) ||                                \
     (timekeeper != NOBODY && waits[timekeeper] && timekeeper_in_time))

// keep_time: any waiter.
inline keep_time() {
    if
#ifndef MUTANT_NOBODY_KEEPS_TIME
    :: SOMEBODY_WAITS && !(timekeeper != NOBODY && timekeeper_in_time) ->
        if
        :: waits[1] -> timekeeper = 1
        :: waits[2] -> timekeeper = 2
#if THREADS > 2
        :: waits[3] -> timekeeper = 3
#endif
        fi;
        timekeeper_in_time = true;
        knows[timekeeper] = false;
#ifndef MUTANT_TIMEKEEPER_NOT_WOKEN
        called[timekeeper] = true
#endif
#endif
    :: else
    fi
}

inline take_out(who) {
    ASSERT(U3, waits[who] && !chosen[who]);
    waits[who] = false;
    if
    :: timekeeper == who -> timekeeper = NOBODY
    :: else
    fi
}

inline choose(who) {
    take_out(who);
    owner = who;
    state = PENDING;
    chosen[who] = true;
#ifndef MUTANT_CHOSEN_NOT_WOKEN
    called[who] = true
#endif
}

// hf_slices_choose, when the slice is not RUNNING.
inline choose_next() {
    if
    :: state == PENDING || !SOMEBODY_WAITS
    :: else ->
        if
        :: waits[1] -> choose(1)
        :: waits[2] -> choose(2)
#if THREADS > 2
        :: waits[3] -> choose(3)
#endif
        // All who wait are banned, for a time.
        :: bans > 0 -> bans--; state = NOBODYS; owner = NOBODY; timekeeper_in_time = false; keep_time()
        fi
    fi;
    ASSERT(U1, TIME_IS_KEPT)
}

// hf_slices_choose.
inline hf_slices_choose() {
    if
    :: state == RUNNING -> keep_time(); ASSERT(U1, TIME_IS_KEPT)
    :: state != RUNNING -> choose_next()
    fi
}

#define SEEMS_STOPPED(who) ((stopped == who && who != NOBODY) || errors > 0)

inline mistake(who) {
    if
    :: stopped == who && who != NOBODY
    :: else -> errors--
    fi
}

// A thread stops, and goes on when all others have ended.
inline may_stop(who) {
    if
    :: atomic { !has_stopped -> has_stopped = true; stopped = who };
       atomic { ended == THREADS - 1 -> stopped = NOBODY }
    :: true
    fi
}

// Time goes by before somebody looks.
inline may_be_over() {
    if
    :: state == RUNNING -> state = OVER
    :: true
    fi
}

proctype Thread(byte me) {
    bool untimed;

outside:
    untimed = false;
    if
    :: goto finished
    // In its own slice: straight to the word, which another may have (a trylock).
    :: atomic { state == RUNNING && owner == me && !inside -> inside = true }; goto holding
    // Without a look at the clock: the slice may be over.
    :: atomic {
           owner == me && !inside && (state == RUNNING || state == OVER) ->
           inside = true;
           untimed = true
       };
       goto holding
    // trylock takes it in anybody's slice.
    :: atomic { !inside -> inside = true }; goto holding
    // leave_other_slice: it waits at another lock, and comes back. A thread that comes here then finds the slice over:
    // so it may below, whenever somebody comes.
    :: atomic {
           state == RUNNING && owner == me && !inside ->
#ifdef MUTANT_LEAVES_SLICE_TO_NOBODY
           state = NOBODYS; owner = NOBODY; timekeeper_in_time = false
#else
           state = OVER;
           choose_next()
#endif
       };
       goto outside
    // acquire_by_slice, hf_slices_join
    :: atomic {
           may_be_over();
           waits[me] = true;
           hf_slices_choose()
       }
    fi;

    // await_slice
waiting:
    atomic {
        called[me] = false;
        if
        :: chosen[me] -> goto chosen_at_last
        :: else
        fi;
        if
        :: timekeeper == me && state != PENDING ->
            // hf_slices_look: too early, or in time.
            if
            :: true
            :: may_be_over(); timekeeper = NOBODY; hf_slices_choose()
            fi
        :: else
        fi;
        knows[me] = (timekeeper == me && timekeeper_in_time)
    };
asleep:
    may_stop(me);
    if
    :: called[me] -> goto waiting
#ifndef MUTANT_LATE_ONE_IS_WAITED_FOR
    // U2: the chosen one is late, and nobody is inside.
    :: atomic {
           waits[me] && !inside && state == PENDING && SEEMS_STOPPED(owner) ->
           mistake(owner);
           state = NOBODYS;
           timekeeper = NOBODY;
           choose_next()
       };
       goto waiting
#endif
#ifndef MUTANT_TIMEKEEPER_IS_NOT_RELIEVED
    // U6
    :: atomic {
           waits[me] && timekeeper != me && timekeeper != NOBODY && state != PENDING && SEEMS_STOPPED(timekeeper) ->
           mistake(timekeeper);
           if
           :: state == RUNNING -> state = OVER
           :: else
           fi;
           timekeeper = NOBODY;
           choose_next()
       };
       goto waiting
#endif
    // The timekeeper's time comes; in a PENDING slice there is none that matters.
    :: atomic {
           knows[me] && timekeeper == me && timekeeper_in_time && state != PENDING ->
           if
           :: state == RUNNING -> state = OVER
           :: else
           fi;
           timekeeper = NOBODY;
           choose_next()
       };
       goto waiting
    // The caller's deadline: hf_slices_leave, unless it is chosen.
    :: atomic {
           timeouts > 0 -> timeouts--;
           if
#ifndef MUTANT_LEAVES_UNLOOKED
           :: chosen[me] -> goto chosen_at_last
#endif
           :: else
           fi;
           may_be_over();
           take_out(me);
#ifndef MUTANT_LEAVES_NO_TIMEKEEPER
           hf_slices_choose();
#endif
           called[me] = false
       };
       goto outside
    fi;

    // take_word
chosen_at_last:
    may_stop(me);
    chosen[me] = false;
    if
    :: atomic { !inside -> inside = true }
    // The deadline: hf_slices_give_up.
    :: atomic {
           timeouts > 0 -> timeouts--;
#ifndef MUTANT_GIVES_NOTHING_UP
           if
           :: state == PENDING && owner == me ->
               state = NOBODYS; owner = NOBODY; timekeeper_in_time = false;
               choose_next()
           :: else
           fi
#endif
       };
       goto outside
    fi;
    // hf_slices_begin
    atomic {
        true;
#ifndef MUTANT_SLICE_NEVER_BEGINS
        if
        :: state == PENDING && owner == me ->
            // A timekeeper from before looks early enough, or another one is needed.
            if
            :: timekeeper_in_time = false
            :: true
            fi;
            if
            :: state = RUNNING;
               ended_slice = false;
#ifndef MUTANT_BEGINS_WITHOUT_TIMEKEEPER
               keep_time()
#endif
            :: state = OVER; ended_slice = true
            fi
#ifdef MUTANT_FIRST_SECTION_IS_UNTIMED
            ; untimed = true
#endif
        :: else
        fi;
        ASSERT(U1, TIME_IS_KEPT)
#endif
    };

holding:
    // hf_uscl_unlock: end_section looks at waiters and time without the guard, then chooses under it.
    if
    :: untimed
    :: !untimed && state == RUNNING // not over yet
    :: state == NOBODYS || state == PENDING // not a slice that it could end
    :: state == OVER && !ended_slice // the thread that has just come to wait is not seen yet
    :: atomic {
           !untimed && (state == RUNNING || state == OVER) -> state = OVER;
#ifndef MUTANT_UNLOCK_DOES_NOT_CHOOSE
           choose_next();
#endif
           ended_slice = false
       }
    fi;
    atomic { ASSERT(I1, inside); inside = false };
    goto outside;

finished:
    // hf_slices_retire, at exit.
    atomic {
        ended++;
        if
        :: state == RUNNING && owner == me -> state = OVER; choose_next()
        :: else
        fi
    }
}

init {
    atomic {
        byte thread;
        for (thread : 1 .. THREADS) {
            run Thread(thread)
        }
    }
}
