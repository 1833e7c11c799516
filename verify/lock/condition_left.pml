// SPDX-License-Identifier: MIT OR Apache-2.0
// A wait for a condition that a signal handler leaves by siglongjmp after any instruction, and the undoing of what it
// has begun, which may be left likewise, and is begun anew then.
// C code: src/park/owned_lock.h (O1, O2), src/lock/posix/condition.c (C1 to C4, C7), src/preload/cond.c (leave),
// src/preload/mutex.c (hf_mutex_unlock_to_wait, hf_mutex_is_kept).
//
// What condition.pml has as one step, under a list's lock, is here instruction by instruction: the lock's word, the
// links, the mutex's release. The links of the second list that a waiter is in are as those of the first.
//
// The program: a leaver waits once, is thrown out JUMPS times at most, and gives the mutex back that it has then. One
// that is not thrown out may come to its deadline; if it was woken instead it wakes another one, as a program would. A
// waiter waits until there is the token, and looks once without having been woken. The signaller lays it down, under
// the mutex, and signals; or it broadcasts, after which nobody waits, and frees the condition variable at once.
//
// C1  A waiter that is chosen was WAITING.
// C2  A permit is given to a waiter that is there.
// C4  Nobody touches the condition variable once it is freed.
// C7  A thread that was thrown out has the mutex, and is in no list.
// And no deadlock: no lock is left locked, no wake and no signal is lost.
#ifndef JUMPS
#define JUMPS 1
#endif

#define NULL 0
#define NOBODY 0
#define LEAVER 1
#define WAITER 2
#define SIGNALLER 3

#define GONE 0
#define WAITING 1
#define CHOSEN 2

bit C1, C2, C4, C7;
#define ASSERT(invariant, condition) assert(invariant || (condition))

// The list's lock: its word, which has the owner's number, and who sleeps on it.
byte word;
bool sleepers;
bool asleep[4];
// The list: a waiter's address is its number.
byte first, last, next[3], previous[3], state[3];
bool by_signal[3], permit[3];
// The mutex: its word, the owner that is noted, the mark.
byte mutex, owner, mark;
bool token, freed;
#define TOUCH ASSERT(C4, !freed)

// The handler.
byte jumps_left = JUMPS;
bool jumps, masked, may_jump;
#define THROWN_OUT (jumps && !masked)
#ifdef MUTANT_LOCK_HAS_A_MARK
bool has_list;
#define HAS_LIST has_list
#else
#define HAS_LIST (word == LEAVER)
#endif

inline acquire_list(me, slept) {
    slept = false;
    do
    :: d_step { word == 0 -> word = me; sleepers = slept }; break
    :: sleepers = sleepers || word != 0;
       asleep[me] = word != 0 && sleepers; // the kernel compares
       !asleep[me];
       slept = true
    od
}

inline wake_one() {
    d_step {
        if
        :: asleep[LEAVER] -> asleep[LEAVER] = false
        :: !asleep[LEAVER] && asleep[WAITER] -> asleep[WAITER] = false
        :: !asleep[LEAVER] && !asleep[WAITER] -> asleep[SIGNALLER] = false
        fi
    }
}

inline release_list(wakes) {
    d_step { wakes = sleepers; sleepers = false; word = 0 };
    if
    :: wakes -> wake_one()
    :: !wakes
    fi
}

// Of one that is in the list. The store that makes the list empty is the last.
inline take_out(who) {
    d_step {
        ASSERT(C1, state[who] == WAITING);
        TOUCH;
        if
        :: next[who] != NULL -> previous[next[who]] = previous[who]
        :: next[who] == NULL -> last = previous[who]
        fi
    };
    d_step {
        TOUCH;
        if
        :: previous[who] != NULL -> next[previous[who]] = next[who]
        :: previous[who] == NULL -> first = next[who]
        fi
    }
}

inline give_permit(who) {
    d_step {
        ASSERT(C2, state[who] == CHOSEN && !permit[who]);
        permit[who] = true;
        who = NULL
    }
}

// To the first one, if there is one. By somebody who is not thrown out meanwhile. `chosen` is NULL before and after.
inline signal_under_lock(chosen, wakes) {
    if
    :: first != NULL -> chosen = first; take_out(chosen); d_step { state[chosen] = CHOSEN; by_signal[chosen] = true }
    :: first == NULL
    fi;
    release_list(wakes);
    if
    :: chosen != NULL -> give_permit(chosen)
    :: chosen == NULL
    fi
}

inline signal(me, chosen, slept, wakes) {
    if
    :: d_step { first != NULL -> TOUCH }; acquire_list(me, slept); signal_under_lock(chosen, wakes)
    :: d_step { first == NULL -> TOUCH }
    fi
}

inline lock_mutex(me) {
    atomic { mutex == NOBODY -> mutex = me; owner = me }
}

inline unlock_mutex() {
    d_step { owner = NOBODY; mutex = NOBODY }
}

// hf_condition_join, under the list's lock.
inline link(me) {
    d_step { TOUCH; next[me] = NULL; previous[me] = last };
    d_step {
        if
        :: previous[me] != NULL -> next[previous[me]] = me
        :: previous[me] == NULL -> first = me
        fi
    };
    last = me
}

inline join(me, slept, wakes) {
    acquire_list(me, slept);
#ifdef MUTANT_LOCK_HAS_A_MARK
    if
    :: me == LEAVER -> has_list = true
    :: me != LEAVER
    fi;
#endif
#ifdef MUTANT_WAITING_WHEN_LINKED
    link(me);
    state[me] = WAITING;
#else
    state[me] = WAITING;
    link(me);
#endif
#ifdef MUTANT_LOCK_HAS_A_MARK
    if
    :: me == LEAVER -> has_list = false
    :: me != LEAVER
    fi;
#endif
    release_list(wakes)
}

// hf_mutex_unlock_to_wait: release_marked, of a mutex that is given back by its word alone; or release_while_masked, of
// one that others have to be told of first (u-SCL's slices, a gate, permits).
inline unlock_mutex_to_wait(me) {
#ifdef MASKED
    masked = true;
    owner = NOBODY;
#ifdef MUTANT_UNMASKS_BETWEEN
    masked = false; // as a part that blocks signals for itself does, if it forgets that they were blocked
#endif
    mutex = NOBODY;
#ifdef MUTANT_UNMASKS_BEFORE_IT_IS_SAID
    masked = false;
#endif
    released = true;
    masked = false
#else
    mark = me;
    released = true;
    owner = NOBODY;
#ifdef MUTANT_MARK_GOES_BEFORE
    mark = NOBODY;
#endif
#ifdef MUTANT_MARK_STAYS
    mutex = NOBODY
#else
    d_step { mutex = NOBODY; mark = NOBODY }
#endif
#endif
}

// hf_waiter_leave. Only the leaver is thrown out, so only it has signals blocked.
inline leave(me, slept, wakes) {
    acquire_list(me, slept);
    if
    :: state[me] == WAITING ->
#ifndef MUTANT_LEAVES_UNMASKED
       masked = masked || me == LEAVER;
#endif
       take_out(me);
       state[me] = GONE;
       release_list(wakes);
       masked = masked && me != LEAVER
    :: state[me] == CHOSEN ->
       release_list(wakes);
       permit[me];
       d_step { permit[me] = false; state[me] = GONE }
    fi
}

// leave_list and mend: from the start, whatever `previous` and `last` say.
inline mend(me) {
    masked = true;
    if
    :: state[me] == WAITING ->
       d_step {
           TOUCH;
           if
           :: first == me -> first = next[me]
           :: first != me && first != NULL && next[first] == me -> next[first] = next[me]
           :: else
           fi;
           last = first;
           if
           :: first != NULL && next[first] != NULL -> previous[next[first]] = first; last = next[first]
           :: else
           fi;
           if
           :: first != NULL -> previous[first] = NULL
           :: first == NULL
           fi
       };
       state[me] = GONE
    :: state[me] != WAITING
    fi;
    release_list(wakes);
    masked = false
}

proctype Leaver() {
    byte chosen;
    bool slept, wakes, released, has_mutex, ended, late;

    lock_mutex(LEAVER);
    if
    :: token -> goto out // nobody waits any more
    :: !token
    fi;
    may_jump = true;
    {
        join(LEAVER, slept, wakes);
        unlock_mutex_to_wait(LEAVER);
        ended = true; // WAIT_SLEEPS
        if
        :: d_step { permit[LEAVER] -> permit[LEAVER] = false; state[LEAVER] = GONE }
        :: late = true; leave(LEAVER, slept, wakes)
        fi;
        may_jump = false
    } unless {
        atomic { THROWN_OUT -> jumps = false; goto undo }
    };
    goto taking_mutex;

undo:
    {
#ifdef MUTANT_ASKS_THE_OWNER
        has_mutex = !ended && owner == LEAVER;
#else
        has_mutex = !ended && (!released || mark == LEAVER);
#endif
        if
        :: has_mutex -> owner = LEAVER; released = false; mark = NOBODY
        :: !has_mutex
        fi;
        asleep[LEAVER] = false; // it was woken by the signal
        if
        :: HAS_LIST -> mend(LEAVER)
        :: !HAS_LIST
        fi;
#ifdef MUTANT_LOCK_HAS_A_MARK
        has_list = false;
#endif
#ifndef MUTANT_KEEPS_THE_WAKE
        wake_one();
#endif
        if
        :: state[LEAVER] != GONE -> leave(LEAVER, slept, wakes)
        :: state[LEAVER] == GONE
        fi;
        if
        :: by_signal[LEAVER] ->
#ifndef MUTANT_KEEPS_THE_SIGNAL
           acquire_list(LEAVER, slept);
           masked = true;
           by_signal[LEAVER] = false;
           signal_under_lock(chosen, wakes);
           masked = false
#endif
        :: !by_signal[LEAVER]
        fi;
        may_jump = false
    } unless {
        atomic { THROWN_OUT -> jumps = false; goto undo }
    };
    if
    :: has_mutex
    :: !has_mutex -> lock_mutex(LEAVER)
    fi;
    d_step {
        jumps = false;
        ASSERT(C7, mutex == LEAVER && state[LEAVER] == GONE && word != LEAVER &&
               (freed || (first != LEAVER && last != LEAVER)))
    };
    goto out;

taking_mutex:
    jumps = false;
    lock_mutex(LEAVER);
    if
    :: by_signal[LEAVER] && !freed -> signal(LEAVER, chosen, slept, wakes)
    :: else
    fi;
out:
    unlock_mutex()
}

proctype Waiter() {
    bool slept, wakes, was_late;

    lock_mutex(WAITER);
    do
    :: token -> break
    :: !token ->
       join(WAITER, slept, wakes);
       unlock_mutex();
       if
       :: d_step { permit[WAITER] -> permit[WAITER] = false; state[WAITER] = GONE }
       :: !was_late -> was_late = true; leave(WAITER, slept, wakes)
       fi;
       lock_mutex(WAITER)
    od;
    unlock_mutex()
}

proctype Signaller() {
    byte chosen, then;
    bool slept, wakes;

    lock_mutex(SIGNALLER);
    token = true;
    unlock_mutex();
    if
    :: signal(SIGNALLER, chosen, slept, wakes)
    :: if
       :: d_step { first == NULL -> TOUCH }
       :: d_step { first != NULL -> TOUCH };
          acquire_list(SIGNALLER, slept);
          chosen = first;
          do
          :: d_step { first != NULL -> then = first; ASSERT(C1, state[first] == WAITING) };
             take_out(then);
             state[then] = CHOSEN
          :: first == NULL -> break
          od;
          release_list(wakes);
          do
          :: chosen != NULL -> then = chosen; chosen = next[chosen]; give_permit(then)
          :: chosen == NULL -> break
          od
       fi;
       freed = true
    fi
}

// The handler comes when it likes.
active proctype Handler() {
end:
    do
    :: atomic { may_jump && !jumps && jumps_left > 0 -> jumps = true; jumps_left-- }
    :: jumps_left == 0 -> break
    od
}

init {
    atomic {
        run Leaver();
        run Waiter();
        run Signaller()
    }
}
