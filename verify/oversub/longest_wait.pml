// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads want one CPU under `holdfast oversub`, and virtual time orders them as it likes: any may be next, again and
// again. Only the look for one that has waited long bounds a wait (take_overdue in oversub/bpf/virtual_time.bpf.h).
// Time is counted in turns. What is done at a turn's end, with the run queue's lock, is one step.
//
// V8  A thread waits in a queue for OVERDUE turns, and a turn for each other thread.
bit V8;
#define ASSERT(invariant, condition) assert(invariant || (condition))

#define THREADS 4
#define OVERDUE 2
#define NOBODY THREADS

typedef thread {
    bool queued;
    byte waits;    // since it ran or woke; it may have been queued on another CPU before
    byte in_queue; // of that, here
}
thread threads[THREADS];
byte current = NOBODY;
byte look_in; // turns

hidden byte i, longest, next_waits, turns;

inline look() {
    longest = NOBODY;
    next_waits = 0;
    for (i : 0 .. THREADS - 1) {
        if
#ifdef MUTANT_FIRST_OVERDUE
        :: threads[i].queued && threads[i].waits >= OVERDUE && longest == NOBODY -> longest = i
        :: threads[i].queued && threads[i].waits >= OVERDUE && longest != NOBODY -> next_waits = threads[i].waits
        :: else
#else
        :: threads[i].queued && (longest == NOBODY || threads[i].waits > threads[longest].waits) ->
            if
            :: longest != NOBODY -> next_waits = threads[longest].waits
            :: else
            fi;
            longest = i
        :: threads[i].queued && longest != NOBODY && threads[i].waits <= threads[longest].waits &&
                threads[i].waits > next_waits && i != longest ->
            next_waits = threads[i].waits
        :: else
#endif
        fi
    }
}

inline begin_turn(i) {
    current = i;
    threads[i].queued = false;
    threads[i].waits = 0;
    threads[i].in_queue = 0
}

inline queue(i, waited) {
    threads[i].queued = true;
    threads[i].waits = waited;
    threads[i].in_queue = 0
}

inline take_any() {
    if
    :: threads[0].queued -> begin_turn(0)
    :: threads[1].queued -> begin_turn(1)
    :: threads[2].queued -> begin_turn(2)
    :: threads[3].queued -> begin_turn(3)
    :: current != NOBODY // another turn of the same
    :: else
    fi
}

#define UNTIL_OVERDUE(waited) (waited >= OVERDUE -> 0 : OVERDUE - waited)

inline dispatch() {
    if
#ifdef MUTANT_NEXT_TURN_GOES_FIRST
    :: current != NOBODY
#endif
    :: look_in == 0 ->
        look();
        if
        :: longest != NOBODY && threads[longest].waits >= OVERDUE ->
#ifdef MUTANT_LOOKS_LATER
            look_in = OVERDUE;
#else
            look_in = UNTIL_OVERDUE(next_waits);
#endif
            turns = current;
            begin_turn(longest);
            if
            :: turns != NOBODY -> queue(turns, 0)
            :: else
            fi
        :: longest != NOBODY && threads[longest].waits < OVERDUE ->
            look_in = UNTIL_OVERDUE(threads[longest].waits);
            take_and_put_back()
        :: longest == NOBODY -> look_in = OVERDUE
        fi
    :: look_in > 0 -> take_and_put_back()
    fi
}

inline take_and_put_back() {
    turns = current;
    take_any();
    if
    :: turns != NOBODY && turns != current -> queue(turns, 0)
    :: else
    fi
}

inline pass_turn() {
    for (i : 0 .. THREADS - 1) {
        if
        :: threads[i].queued ->
            threads[i].waits++;
            threads[i].in_queue++;
            ASSERT(V8, threads[i].in_queue <= OVERDUE + THREADS - 1)
        :: else
        fi
    }
    look_in = (look_in > 0 -> look_in - 1 : 0)
}

#define IS_AWAY(i) (!threads[i].queued && current != i)

init {
    do
    :: atomic { IS_AWAY(0) -> queue(0, 0) }
    :: atomic { IS_AWAY(1) -> queue(1, 0) }
    :: atomic { IS_AWAY(2) -> queue(2, 0) }
    :: atomic { IS_AWAY(3) -> queue(3, 0) }
    :: atomic { IS_AWAY(3) -> queue(3, OVERDUE - 1) } // it comes from another CPU
    :: atomic {
           if
           :: current != NOBODY -> current = NOBODY // it sleeps, at once
           :: true -> pass_turn()
           fi;
           dispatch()
       }
    :: current == NOBODY -> break
    od
}
