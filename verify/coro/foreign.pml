// SPDX-License-Identifier: MIT OR Apache-2.0
// A coroutine that waits on behalf of a handler of another library, on an executor of its own.
// C++ code: coro/include/holdfast/coro/detail/foreign_wait.hpp (step, note_end, end_with_context), asio_bridge.inc
// (wait::begin, resume_there, finish), executor_life.hpp.
//
// The coroutine waits for two things, one after another, or for one, or for none. A thread begins it; each of two
// threads outside wakes it once, if it waits; two threads of the other library run its steps; their context may end
// when neither is at it.
// One step is one atomic instruction, or what is done under a guard.
//
// F1  Nobody touches the wait when it is gone.
// F2  Its handler is called once, or destroyed once with the context; and not within the function that began the wait.
// And no deadlock: the handler has its end, or the coroutine waits for what nobody does.
bit F1, F2;
#define ASSERT(invariant, condition) assert(invariant || (condition))

#define BEGINNER 0 // who runs a step: this one, or one of the context's threads, 1 and 2
#define NOBODY 3

byte waits_left;
bool linked;                 // waits, in a primitive's list
bool ending;                 // of the wait's life
byte inside;                 // of that
byte ended_here = NOBODY;    // whose `ended` is written
bool ended[3];               // on each thread's stack
#ifdef MUTANT_ENDED_IS_OF_THE_WAIT
bool ended_of_all;
#endif
byte tickets;                // posted steps
bool handler_posted, context_over;
byte running;                // threads of the context that are at it
bool begun;                  // the function that begins it has returned
bool gone;                   // ghost
bool has_ended;              // ghost: the coroutine
byte handlers;               // ghost: ends of the handler
#define TOUCH ASSERT(F1, !gone)

// run_here(): until the coroutine is suspended. After that nothing of it may be touched: others may run it.
inline run_coroutine() {
    if
    :: atomic { waits_left > 0 -> waits_left--; TOUCH; linked = true }
    :: atomic { waits_left == 0 -> TOUCH;
            has_ended = true;
#ifdef MUTANT_ENDED_IS_OF_THE_WAIT
            ended_of_all = true
#else
            ended[ended_here] = true
#endif
       }
    fi
}

inline step(me) {
    TOUCH;
    ended[me] = false;
#ifdef MUTANT_THE_FIRST_THREAD_IS_TOLD
    atomic { ended_here == NOBODY -> ended_here = me } unless { ended_here != NOBODY };
#else
    ended_here = me;
#endif
    run_coroutine();
#ifdef MUTANT_ENDED_IS_OF_THE_WAIT
    TOUCH;
    ended[me] = ended_of_all;
#endif
    if
    :: ended[me] ->
#ifndef MUTANT_DOES_NOT_WAIT_FOR_WAKERS
        atomic { ending = true; inside == 0 };
#endif
        TOUCH;
        gone = true;
#ifdef MUTANT_CALLS_WITHIN_BEGIN
        atomic { handlers++; ASSERT(F2, handlers == 1 && me != BEGINNER) }
#else
        atomic {
            handler_posted = me == BEGINNER;
            handlers = handlers + (me != BEGINNER);
            ASSERT(F2, handlers <= 1)
        }
#endif
    :: !ended[me]
    fi
}

proctype beginner() {
    step(BEGINNER);
    begun = true
}

proctype context_thread(byte me) {
    do
    :: atomic { !context_over && tickets > 0 -> tickets--; running++ };
        step(me);
        running--
    :: atomic { !context_over && handler_posted -> handler_posted = false; running++ };
        atomic { handlers++; ASSERT(F2, handlers == 1); running-- }
    :: atomic { context_over || (begun && handlers == 1) -> break }
    od
}

// choose() and schedule() of a thread that is not the wait's.
proctype waker() {
    if
    :: atomic { linked && !ending -> linked = false; TOUCH; inside++ };
        TOUCH;
        tickets++;       // post(): from here on it may be run, and end
        TOUCH;           // ... and schedule() returns
        inside--
    :: atomic { linked && ending -> skip } // passed by (coro.X3)
    :: begun && (handlers == 1 || context_over)
    fi
}

// The context's destructor: none of its threads runs.
proctype end_of_context() {
    if
    :: atomic { begun && running == 0 -> context_over = true };
        if
        :: gone || handlers == 1 ->
            atomic { handlers = handlers + handler_posted; handler_posted = false }
        :: else ->
#ifndef MUTANT_CONTEXT_DOES_NOT_WAIT_FOR_WAKERS
            atomic { ending = true; inside == 0 };
#endif
            TOUCH;
            ASSERT(F2, !has_ended); // its handler would have been called
            atomic { gone = true; linked = false; handlers++ }
        fi
    :: begun && handlers == 1
    fi
}

#define IS_OVER (handlers == 1)

init {
    atomic {
        if
        :: waits_left = 0
        :: waits_left = 1
        :: waits_left = 2
        fi;
        run beginner();
        run context_thread(1);
        run context_thread(2);
        run waker();
        run waker();
        run end_of_context()
    }
    IS_OVER
}
