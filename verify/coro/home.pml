// SPDX-License-Identifier: MIT OR Apache-2.0
// An executor ends while threads that are not its own let go waiters whose home it is.
// C++ code: coro/include/holdfast/coro/detail/executor_life.hpp, coro/src/executor_life.cpp (begin_end, retire,
// set_adrift, take_back, hold_foreign_home, end), waiter.hpp (choose, schedule_by, leave_home), waited_on.hpp
// (abandon), wait_awaiters.hpp (end_without_home), pool.cpp (shutdown).
//
// A semaphore without permits has three waiters in its list, in any order. The first belongs to the executor that ends
// and waits on it. The second waits on another executor, which lives. The third belongs there, too, but has gone to the
// one that ends. A thread outside releases two permits, one after another. A waiter that gets one keeps it. What is
// ready runs on its executor, on the one that ends while it is not stopping.
// One step is one atomic instruction, or what is done under a guard, but for what lies between choosing and entering.
//
// X1  Nobody touches a frame that is gone, or an executor that is.
// X3  Permits are not lost: those that are free, and those that somebody has kept, are those released.
// And no deadlock: the executor's end returns, and the second and the third waiter have their end, or no permit is
// free.
#define WAITERS 3
#define RELEASED 2
#define HERE(one) (one != 2)  // waits on the executor that ends
#define BELONGS(one) (one == 1)

bit X1, X3;
#define ASSERT(invariant, condition) assert(invariant || (condition))

#define WAITING 1
#define CHOSEN 2
#define ORPHANED 3

chan waiters = [WAITERS] of { byte };
byte state[WAITERS + 1];
bool linked[WAITERS + 1], adrift[WAITERS + 1], error[WAITERS + 1];
bool queued[WAITERS + 1];     // on its home, or where else it shall run
bool guarded;                 // the semaphore
byte permits;
byte inside;                  // of the life
bool ending, over;            // of the life: ending_bit, and that its generation is another
bool stopping;                // of the executor
bool dropped;                 // ghost: the third, by its schedule()

bool gone[WAITERS + 1];       // ghost: the frame
bool executor_gone;           // ghost
byte kept, released;          // ghost: permits
byte running;                 // ghost: a coroutine is running on the executor
bool returned, outside_over;  // ghost: from the executor's end; of a task that releases
#define TOUCH_WAIT(one) ASSERT(X1, !gone[one])
// It has come to its end, or nobody releases what it waits for.
#define IS_DONE(one) (gone[one] || (linked[one] && permits == 0))
#define ALL_IS_DONE (returned && IS_DONE(2) && IS_DONE(3))

// The rest of a coroutine that was resumed: it keeps its permit.
inline run_it(one) {
    atomic {
        queued[one] = false;
        TOUCH_WAIT(one);
        assert(state[one] == CHOSEN && !error[one]);
        kept++;
        gone[one] = true
    }
}
// Or ends with an error, and gives back what it has; a task that releases chooses for it.
inline end_it(one) {
    atomic {
        queued[one] = false;
        TOUCH_WAIT(one);
        permits = permits + (state[one] == CHOSEN);
        gone[one] = true
    }
}

// give(), with the guard, until nothing is left to give; a task that was chosen goes into `next`, or 0.
inline choose_one() {
    next = 0;
    do
    :: next == 0 && permits > 0 && len(waiters) > 0 ->
        waiters?next;
        linked[next] = false;
        TOUCH_WAIT(next);
        state[next] = CHOSEN;
        held = false;
        if
        :: !HERE(next)
        :: HERE(next) ->
#if !defined(MUTANT_HOLDS_NO_HOME) && !defined(MUTANT_HOLDS_AFTER_THE_GUARD)
            if
            :: atomic { over -> error[next] = true }
            :: atomic { !over && !ending -> inside++; held = true }
            :: atomic { !over && ending -> skip };
#ifdef MUTANT_IS_AN_ORPHAN_BEFORE_IT_IS_ADRIFT
                state[next] = ORPHANED;
#endif
                if
#ifndef MUTANT_SETS_ADRIFT_UNLOOKED
                :: atomic { over -> error[next] = true; state[next] = CHOSEN }
                :: atomic { !over ->
#else
                :: atomic { true ->
#endif
                       adrift[next] = true; state[next] = ORPHANED };
#ifdef MUTANT_GIVES_TO_THE_ORPHANED
                    permits--;
#endif
                    next = 0
                fi
            fi
#endif
        fi;
        if
        :: next != 0 -> permits--
        :: next == 0
        fi
    :: next != 0 || permits == 0 || len(waiters) == 0 -> break
    od
}

// schedule_by()
inline schedule_it() {
    if
    :: next == 0
    :: next != 0 ->
#ifdef MUTANT_HOLDS_AFTER_THE_GUARD
        if
        :: atomic { HERE(next) && !over && !ending -> inside++; held = true }
        :: atomic { HERE(next) && (over || ending) -> error[next] = true }
        :: !HERE(next)
        fi;
#endif
        TOUCH_WAIT(next); // reads its handle and its home
        ASSERT(X1, !HERE(next) || error[next] || !executor_gone);
        if
        :: atomic { HERE(next) && !error[next] && stopping -> dropped = dropped || next == 3 }
        :: atomic { !(HERE(next) && !error[next] && stopping) -> queued[next] = true }
        fi;
        if
        :: held -> atomic { inside--; held = false }
        :: !held
        fi
    fi
}

// release_unsuspended(), of `count` permits; 0: what was given back.
inline release(count) {
    atomic { !guarded -> guarded = true };
    permits = permits + count;
    released = released + count;
    choose_one();
    guarded = false;
    schedule_it();
    next = 0
}

proctype Outside() {
    byte next;
    bool held;
    byte count, left = RELEASED;
    // What ended with an error has given its permit back: so again and again, until the end.
    do
    :: ALL_IS_DONE && !guarded && left == 0 -> break
    :: left > 0 || (!guarded && permits > 0 && len(waiters) > 0) ->
        count = (left > 0 -> 1 : 0);
        left = left - count;
        release(count)
    od;
    outside_over = true;
    ASSERT(X3, permits + kept == released)
}

// Of the executor that lives; also whoever resumes a waiter with an error.
proctype Lives() {
    do
    :: queued[2] -> run_it(2)
    :: queued[3] && error[3] -> end_it(3)
    :: outside_over -> break
    od
}

// Of the executor that ends.
proctype Worker() {
    do
    :: atomic { !stopping && queued[1] -> running++ }; run_it(1); running--
    :: atomic { !stopping && queued[3] && !error[3] -> running++ }; run_it(3); running--
    :: stopping -> break
    od
}

proctype End() {
    byte other, turns;
    bool mine;
    atomic { ending = true };
#ifndef MUTANT_END_DOES_NOT_WAIT
    inside == 0;
#endif
    atomic { stopping = true };
    running == 0; // join()
#ifdef MUTANT_RETIRES_FIRST
    atomic { inside == 0 -> over = true };
#endif
    // destroy_all(): abandon(), then leave_home(). A condition variable's waiter looks at its state first, without the
    // guard (leave_lists), and passes the guard by when it is an orphan.
    if
    :: gone[1]
    :: !gone[1] && state[1] == ORPHANED -> skip;
#ifndef MUTANT_IS_NOT_TAKEN_BACK
        atomic { adrift[1] = false };
#endif
        gone[1] = true
    :: !gone[1] ->
        atomic { !guarded -> guarded = true };
        atomic {
            turns = (linked[1] -> len(waiters) : 0);
            do
            :: turns > 0 ->
                waiters?other;
                if
                :: other != 1 -> waiters!other
                :: other == 1
                fi;
                turns--
            :: turns == 0 -> break
            od;
            mine = (!linked[1] && state[1] == CHOSEN);
            linked[1] = false;
            other = 0;
            guarded = false
        };
        if
        :: mine -> atomic { permits++ } // give_back(); a task that releases chooses for it
        :: !mine
        fi;
#ifndef MUTANT_IS_NOT_TAKEN_BACK
        atomic { adrift[1] = false };
#endif
        gone[1] = true
    fi;
    // What was ready there and belongs elsewhere is left as it is: not allowed (docs/coroutines-reference.md, "The
    // end"). Here it is taken for destroyed by where it belongs.
    atomic {
        if
        :: !gone[3] && !error[3] && (queued[3] || dropped) -> queued[3] = false; gone[3] = true; permits++
        :: else
        fi
    };
#ifndef MUTANT_RETIRES_FIRST
    atomic { inside == 0 -> over = true };
#endif
    executor_gone = true;
    ASSERT(X1, !adrift[1]); // or it would be resumed now
#ifndef MUTANT_ADRIFT_IS_FORGOTTEN
    atomic {
        if
        :: adrift[3] -> adrift[3] = false; error[3] = true; queued[3] = true
        :: !adrift[3]
        fi
    };
#endif
    returned = true
}

inline link(one) {
    waiters!one;
    linked[one] = true;
    state[one] = WAITING
}

init {
    atomic {
        do
        :: !linked[1] -> link(1)
        :: !linked[2] -> link(2)
        :: !linked[3] -> link(3)
        :: len(waiters) == WAITERS -> break
        od;
        run Outside();
        run Lives();
        run Worker();
        run End()
    }
}
