// SPDX-License-Identifier: MIT OR Apache-2.0
// Combining: functions given to with() run on the thread of an owner before, without their callers being resumed for
// it.
// C++ code: coro/include/holdfast/coro/mutex.hpp (next_owner, combine, section_awaiter, unlock_by),
// policy.hpp (exchange).
//
// One step is one atomic instruction, what is done under the guard, or a function's run. Each task calls with() once,
// but task 1 locks and unlocks; a task that goes on when all sections are over destroys the mutex. A caller of with()
// that was not combined goes on as the owner, runs its function itself and gives the mutex on from where it can't be
// suspended. Task 1 unlocks by a co_await, which combines, or by its guard's destructor, which queues the next owner
// (M5). Task 2 has a limit, which may be reached while it waits. Sleeping and polling are not here, nor a limit that is
// reached before the wait (mutex.pml).
//
// M1  Exclusion: one function runs.
// M3  Nobody touches the mutex after it was destroyed.
// W1  A coroutine is queued once, and not while it runs.
// S1  Each function runs once before its caller goes on, and never if it is told that it did not.
// And no deadlock: all callers come out.
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TASKS
#define TASKS 5
#endif
#define CHAIN_MAX 2
#define LIMITED 2
#define REFUSED(one) (one == LIMITED && cancelled)

bit M1, M3, W1, S1;
#define ASSERT(invariant, condition) assert(invariant || (condition))

chan ready = [TASKS] of { byte };   // all queues of the pool
chan waiters = [TASKS] of { byte }; // the mutex's list
bool held;
bool chosen[TASKS + 1]; // was made the owner
bool done[TASKS + 1];   // its function has run
bool waiting, cancelled; // of the task with a limit

bool destroyed;           // ghost
byte inside, over, out;   // ghost: `over` counts sections, `out` callers that have gone on
byte ran[TASKS + 1];      // ghost
bool released[TASKS + 1]; // ghost: the mutex was given on after its section
bool busy[TASKS + 1];     // ghost: queued, or on a worker
#define TOUCH ASSERT(M3, !destroyed)

inline put(one) {
    atomic {
        ASSERT(W1, !busy[one]);
        busy[one] = true;
        ready!one
    }
}

// The function of `one`, on whatever thread.
inline work(one) {
    atomic { inside++; ran[one]++; ASSERT(M1, inside == 1); ASSERT(S1, ran[one] == 1) };
    atomic {
        inside--;
#ifdef MUTANT_COMBINED_IS_NOT_DONE
        done[one] = (one == task)
#else
        done[one] = true
#endif
    }
}

// choose_or_release(), under the guard: the next owner in `next`, or 0 and the mutex is free.
inline choose(after) {
    atomic {
        TOUCH;
        over++;
        released[after] = true;
        next = 0;
        do
        :: next == 0 && len(waiters) > 0 ->
            waiters?next;
#ifndef MUTANT_CHOOSES_WHO_WAS_CANCELLED
            next = (REFUSED(next) -> 0 : next);
#endif
            chosen[next] = true; // 0: of nobody
            waiting = waiting && next != LIMITED
        :: next == 0 && len(waiters) == 0 -> held = false; break
        :: next != 0 -> break
        od;
#ifdef MUTANT_FREES_WHILE_IT_COMBINES
        if
        :: len(waiters) == 0 -> held = false
        :: else
        fi
#endif
    }
}

// next_owner(): runs the functions of those that it may, and gives the mutex on each time before their callers go on.
inline next_owner() {
    choose(task);
    do
    :: next > 1 && chain + 1 < CHAIN_MAX ->
        chain++;
        combined = next;
        work(combined);
#ifdef MUTANT_COMBINED_GOES_ON_FIRST
        put(combined);
        choose(combined)
#else
        choose(combined);
#ifndef MUTANT_COMBINED_IS_FORGOTTEN
        put(combined)
#endif
#endif
    :: next <= 1 || chain + 1 >= CHAIN_MAX -> break
    od;
    combined = 0
}

inline come_out() {
    atomic {
        ASSERT(S1, ran[task] == !REFUSED(task));
        busy[task] = false;
        out++;
        if
        :: over + !released[task] == TASKS -> destroyed = true // a caller knows that its own section is over
        :: else
        fi
    }
}

proctype Worker() {
    byte task, next, combined, chain;

again:
    if
    :: atomic { ready?task -> chain = 0 }
    :: out == TASKS -> goto ended
    fi;
resumed:
    if
    :: done[task] -> come_out()
    :: atomic { REFUSED(task) -> over++; released[task] = true };
#ifdef MUTANT_CANCELLED_RUNS
        work(task);
#endif
        come_out()
    :: !done[task] && chosen[task] && task > 1 -> // await_resume: the owner itself
        work(task);
        next_owner();
        if
        :: next != 0 -> put(next) // unsuspended: queued as an owner
        :: next == 0
        fi;
        come_out()
    :: atomic { !done[task] && !chosen[task] && held && !REFUSED(task) ->
        TOUCH;
        waiting = waiting || task == LIMITED;
        busy[task] = false;
        waiters!task
    } // enter()
    :: atomic { !done[task] && !chosen[task] && !held && !REFUSED(task) -> TOUCH; held = true; chosen[task] = true };
        goto owner
    :: !done[task] && chosen[task] && task == 1 ->
owner:
        work(task);
        if
        :: task == 1 -> // by its guard's destructor
            choose(task);
#ifndef MUTANT_DESTRUCTOR_QUEUES_NOBODY
            if
            :: next != 0 -> put(next)
            :: next == 0
            fi;
#endif
            next = 0
        :: true -> next_owner()
        fi;
        if
        :: next == 0 -> come_out()
        :: atomic { next != 0 -> chain++; busy[task] = false };
            if
            :: atomic { chain >= CHAIN_MAX -> chain = 0 };
                put(next);
                put(task)
            :: atomic { chain < CHAIN_MAX -> busy[next] = true }; // into the slot
                put(task);
                atomic { task = next; next = 0 };
                goto resumed
            fi
        fi
    fi;
    atomic { task = 0; next = 0 };
    goto again;
ended:
    skip
}

// A canceller takes the waiter out and lets it go on (W2).
proctype Limit() {
    if
    :: atomic { waiting -> waiting = false; cancelled = true }; // the compare-and-swap
        atomic {
            TOUCH;
            if
            :: waiters??[LIMITED] -> waiters??LIMITED
            :: else
            fi
        };
        put(LIMITED)
    :: out == TASKS
    fi
}

init {
    byte i = 1;
    atomic {
        do
        :: i <= TASKS -> busy[i] = true; ready!i; i++
        :: i > TASKS -> break
        od;
        i = 0;
        do
        :: i < WORKERS -> run Worker(); i++
        :: i == WORKERS -> break
        od;
        run Limit()
    }
}
