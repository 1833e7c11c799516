// SPDX-License-Identifier: MIT OR Apache-2.0
// A scope: tasks that are spawned into it, one that joins and destroys it, a thread that destroys it without a join,
// and the end of the executor on which the tasks run.
// C++ code: coro/include/holdfast/coro/async_scope.hpp (spawn, run_in, ended, take, rethrow, wait_by_blocking),
// waited_on.hpp (take_at_once, enter), spawn.hpp (rooted::start, destroy), coro/src/root_list.hpp.
//
// One step is one atomic instruction, or what is done under a guard. The owner spawns task 1, task 1 spawns task 2, and
// either may fail before. The executor of both may end at any time while they do not run; what it refuses is destroyed
// by the spawner. The owner, which is elsewhere, joins, or with BLOCKS destroys the scope as a thread.
//
// J1  A join ends after the frames of all tasks are gone.
// J2  When the guard is free and nothing runs, nobody waits.
// J3  Nobody touches the scope after it was destroyed.
// J4  A join that throws nothing says that each task has run to its end.
// And no deadlock: the owner's join, or its destructor, ends.
#define TASKS 2

bit J1, J2, J3, J4;
#define ASSERT(invariant, condition) assert(invariant || (condition))

// Of a task.
#define NOT_YET 0
#define READY 1
#define RUNS 2
#define GONE 3

byte running, unfinished;
bool lost, thrown, stop_requested;
bool linked;  // the owner waits in the list, or as a blocked thread
bool let_go;  // and has been chosen, or told
byte is[TASKS + 1];
bool adopted[TASKS + 1]; // in the executor's list of roots
bool closed;             // that list

bool destroyed;          // ghost: the scope
bool frame[TASKS + 1];   // ghost
byte ran;                // ghost: tasks that have run to their end without a failure
byte spawned;            // ghost

#define TOUCH ASSERT(J3, !destroyed)
#define GUARDED ASSERT(J2, running > 0 || !linked)

// ended(): the guard, then the wake-up, which is no touch of the scope.
inline ended() {
    atomic {
        TOUCH;
        running--;
        if
        :: running > 0
        :: running == 0 ->
#ifndef MUTANT_LOST_IS_NOT_SAID
            lost = lost || unfinished > 0;
            unfinished = 0;
#endif
#ifdef MUTANT_LETS_NOBODY_GO_ON
            skip
#else
            wakes = linked;
            linked = false
#endif
        fi;
        GUARDED
    };
    if
    :: wakes -> atomic { wakes = false; let_go = true }
    :: !wakes
    fi;
#ifdef MUTANT_LOOKS_AGAIN
    TOUCH
#endif
}

// destroy() of spawn.hpp: the frame, then ended().
inline destroy(one) {
#ifdef MUTANT_ENDS_BEFORE_ITS_FRAME
    ended();
    atomic { frame[one] = false; is[one] = GONE }
#else
    atomic { frame[one] = false; is[one] = GONE };
    ended()
#endif
}

inline spawn(one) {
    atomic { frame[one] = true; spawned++ };
#ifdef MUTANT_COUNTS_AFTER_IT_STARTS
    begin(one);
    atomic { TOUCH; running++; unfinished++ }
#else
    atomic { TOUCH; running++; unfinished++ };
    begin(one)
#endif
}
// start(): adopt() and schedule(), or destroy().
inline begin(one) {
    if
    :: atomic { !closed -> adopted[one] = true; is[one] = READY }
    :: closed ->
#ifdef MUTANT_REFUSED_IS_NOT_COUNTED
        atomic { frame[one] = false; is[one] = GONE }
#else
        destroy(one)
#endif
    fi
}

// A worker's turns with this task, from its start to its end; it may be suspended, and destroyed, before the end.
proctype Task(byte one) {
    bool wakes;

    do
    :: atomic { is[one] == READY && adopted[one] && !closed -> is[one] = RUNS };
        if
        :: one < TASKS && is[TASKS] == NOT_YET -> // not refused: the executor's workers run
            atomic { TOUCH; frame[TASKS] = true; spawned++; running++; unfinished++ };
            atomic { adopted[TASKS] = true; is[TASKS] = READY }
        :: true
        fi;
        if
        :: atomic { is[one] = READY } // suspended
        :: true -> // fail(): under the guard; then the stop
            atomic { TOUCH; thrown = true };
            atomic { TOUCH; stop_requested = true };
            atomic { TOUCH; unfinished-- };
            adopted[one] = false;
            destroy(one);
            break
        :: true ->
            atomic { TOUCH; unfinished--; ran++ };
            adopted[one] = false;
            destroy(one);
            break
        fi
    :: is[one] == GONE || (closed && is[one] != RUNS) || destroyed -> break
    od
}

// The executor's end: its workers have ended (nothing runs), then it destroys what there is.
proctype Ender() {
    bool wakes;
    byte one;

    if
    :: atomic { is[1] != RUNS && is[2] != RUNS -> closed = true };
        one = TASKS; // the youngest first
        do
        :: one > 0 && adopted[one] ->
            adopted[one] = false;
#ifdef MUTANT_DESTROYED_IS_NOT_COUNTED
            atomic { frame[one] = false; is[one] = GONE };
#else
            destroy(one);
#endif
            one--
        :: one > 0 && !adopted[one] -> one--
        :: one == 0 -> break
        od
    :: destroyed
    fi
}

proctype Owner() {
    bool wakes;

    spawn(1);
    if
    :: atomic { running == 0 -> TOUCH } // take_at_once()
    :: running > 0 ->
        if // enter(), or wait_by_blocking()
#ifdef MUTANT_LINKS_UNLOOKED
        :: atomic { true -> TOUCH; linked = true; GUARDED };
#else
        :: atomic { running == 0 -> TOUCH }; goto over
        :: atomic { running > 0 -> TOUCH; linked = true; GUARDED };
#endif
#ifdef BLOCKS
            stop_requested = true;
#endif
            let_go
        fi
    fi;
over:
    ASSERT(J1, !frame[1] && !frame[2]);
    atomic { // rethrow()
        TOUCH;
        ASSERT(J4, thrown || lost || ran == spawned);
        destroyed = true
    }
}

init {
    atomic { run Owner(); run Task(1); run Task(2); run Ender() }
}
