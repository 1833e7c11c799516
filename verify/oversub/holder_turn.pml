// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads take turns on one CPU under `holdfast oversub`, each in and out of critical sections and asleep as it likes,
// and lock holders' turns go on (oversub/bpf/holder_turn.bpf.h). Time is counted in the steps of the CPU's timer. What
// the scheduler does at one time it does with the run queue's lock and no interrupts, the timer's function on the same
// CPU: so each is one step. Which of the waiting threads is next, or whether the last one has another turn, is left
// open.
//
// H1  A turn goes on for STEPS_MOST steps at most.
// H3  A turn that ends in a section, while others want the CPU, goes on, if it has not; and none is cut short.
// V6  What a thread has run is charged to it before it may have the CPU again.
bit H1, H3, V6;
#define ASSERT(invariant, condition) assert(invariant || (condition))

#define THREADS 3
#define SLICE 2
#define STEPS_MOST 2
#define NOBODY THREADS

mtype = { RUNS, WAITS, SLEEPS };

typedef thread {
    mtype state;
    bool holds;
    bool goes_on; // task_context's
    bool owes;    // it has run, and was not charged
}
thread threads[THREADS];
byte current = NOBODY;
byte slice; // what is left of it
bool kicked;
bool is_armed; // the timer
byte steps_left;
// What the scheduler does not know:
bool was_longer; // this turn
byte longer_by;

hidden byte previous, i; // within a step
hidden byte is_longer;

#define WANTED(i) (current != i && threads[i].state == WAITS)
#define IS_WANTED_BY_OTHERS (WANTED(0) || WANTED(1) || WANTED(2))

inline end_turn(i) {
    threads[i].goes_on = false
}

inline charge(i) {
    threads[i].owes = false
}

// oversub_stopping
inline stop(i) {
#ifdef MUTANT_STOPS_UNCHARGED
    skip
#else
    charge(i)
#endif
}

inline enqueue(i) {
    threads[i].state = WAITS;
#ifndef MUTANT_PLACE_KEEPS_THE_TURN
    end_turn(i)
#endif
}

inline begin_turn(i) {
    current = i;
    threads[i].state = RUNS;
    ASSERT(V6, !threads[i].owes);
    slice = SLICE;
    kicked = false;
    was_longer = false;
    longer_by = 0
}

// Any of the queue, or nobody.
inline take() {
    if
    :: threads[0].state == WAITS -> begin_turn(0)
    :: threads[1].state == WAITS -> begin_turn(1)
    :: threads[2].state == WAITS -> begin_turn(2)
    :: else -> current = NOBODY; slice = 0; kicked = false; was_longer = false; longer_by = 0
    fi
}

inline make_turn_longer(i) {
    is_longer = false;
    if
#ifdef MUTANT_LONGER_AGAIN
    :: threads[i].holds && IS_WANTED_BY_OTHERS ->
#else
    :: threads[i].holds && !threads[i].goes_on && IS_WANTED_BY_OTHERS ->
#endif
        steps_left = STEPS_MOST - 1;
        is_armed = true;
        threads[i].goes_on = true;
        slice = STEPS_MOST;
        is_longer = true
    :: else
    fi
}

// A slice has ended, or the CPU was kicked.
// The thread has another turn, since it has had less than those that wait.
inline next_turn(i) {
#ifndef MUTANT_NEXT_TURN_UNCHARGED
    charge(i);
#endif
#ifndef MUTANT_NEXT_TURN_KEEPS_THE_LAST
    end_turn(i);
#endif
    begin_turn(i)
}

inline look_for_another() {
    make_turn_longer(current);
    ASSERT(H3, is_longer || was_longer || !threads[current].holds || !IS_WANTED_BY_OTHERS);
    if
    :: is_longer -> was_longer = true; kicked = false
    :: else ->
        previous = current;
        take();
        stop(previous);
        enqueue(previous);
        if
        :: current == NOBODY -> begin_turn(previous) // SCX_ENQ_LAST
        :: else
        fi
    fi
}

inline dispatch() {
    if
    :: IS_WANTED_BY_OTHERS -> next_turn(current)
    :: true -> look_for_another()
    fi
}

inline turn_steps() {
    is_armed = false;
    if
    :: current != NOBODY && threads[current].goes_on ->
        if
        :: threads[current].holds && steps_left > 0 ->
            is_armed = true;
#ifndef MUTANT_STEPS_UNCOUNTED
            steps_left--
#endif
        :: else ->
            ASSERT(H3, was_longer);
            kicked = true
        fi
    :: else -> steps_left = 0
    fi
}

inline pass_time() {
    if
    :: current != NOBODY ->
        threads[current].owes = true;
        slice = (slice > 0 -> slice - 1 : 0);
        longer_by = longer_by + was_longer
    :: else
    fi;
    if
    :: is_armed -> turn_steps()
    :: else
    fi;
    ASSERT(H1, longer_by <= STEPS_MOST);
    if
    :: current != NOBODY && (slice == 0 || kicked) -> dispatch()
    :: current != NOBODY && slice == 0 && was_longer && !kicked // the kernel looks by its tick, which may be far
    :: else
    fi
}

// oversub_runnable, and what follows it.
inline wake(i) {
#ifndef MUTANT_WAKES_INTO_OLD_TURN
    end_turn(i);
#endif
    if
    :: current == NOBODY -> begin_turn(i) // an idle CPU: the kernel hands it over, and asks nobody
    :: current != NOBODY -> enqueue(i)
    fi
}

init {
    atomic {
        for (i : 0 .. THREADS - 1) {
            threads[i].state = SLEEPS
        }
    }
    do
    :: atomic { current != NOBODY -> threads[current].holds = !threads[current].holds }
    :: atomic { current != NOBODY -> stop(current); threads[current].state = SLEEPS; take() }
    :: atomic { threads[0].state == SLEEPS -> wake(0) }
    :: atomic { threads[1].state == SLEEPS -> wake(1) }
    :: atomic { threads[2].state == SLEEPS -> wake(2) }
    :: atomic { pass_time() }
    :: current == NOBODY -> break
    od
}
