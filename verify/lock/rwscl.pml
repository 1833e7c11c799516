// SPDX-License-Identifier: MIT OR Apache-2.0
// RW-SCL: the word, the gates, the state and the drain.
// C code: src/lock/scl/rwscl_state.h (states, RS1 to RS6, I4), src/lock/scl/rwscl_readers.c,
// src/lock/scl/rwscl_writers.c, src/lock/scl/rwscl.c.
//
//     READERS -> READERS+FRONT [+OVER] -> WRITERS+FRONT (drain) -> WRITERS -> READERS
//
// One step is one atomic instruction, or what one futex call does inside the kernel. The word's own protocol is checked
// in word_lock.pml and flexguard.pml (also that of src/lock/scl/rwscl_word.c): here who wants it waits until it is
// free, in one step. Time is a choice: a slice may be over whenever somebody looks at the clock, and a thread that
// keeps time may look whenever it likes. A sleep that ends by itself (a timekeeper's, a front writer's before the
// slice's end, a signal) is a call that returned without having slept; so a wake that is lost is a deadlock. Guesses (a
// thread that stays away) are choices, too, and TIMED is one: any reader may find that time is over. Each thread locks
// any number of times; each time it may try, wait, or give up.
//
// Checked: RS1; RS3, RS4, RS5 by their assertions; RS2 to RS4 and RS6 by no deadlock; with DESTROYS also I4: a writer
// that finds that it is the last user destroys the lock after its unlock.
//
// Threads up to READERS only read, threads above THREADS - WRITERS only write; those between do both. With two gates a
// reader may leave by another than it came by. With NESTS readers read a second time, and some join a drain that only
// believe that they read.
#define THREADS 3
#ifndef READERS
#define READERS 1
#endif
#ifndef WRITERS
#define WRITERS 1
#endif
#ifndef GATES
#define GATES 1
#endif
#define MAY_READ (me <= THREADS - WRITERS)
#define MAY_WRITE (me > READERS)

// Always 0. ASSERT(RS1, x) fails as "(RS1||x)", by which the check script knows the invariant.
bit RS1, RS3, RS4, RS5, I4;
#define ASSERT(invariant, condition) assert(invariant || (condition))

// The state's bits, one variable each, changed together in one step. Its ROUND is no variable: what a thread compares
// it for is said in bits that a new round clears.
bool writers, front, over, readers_wait, timekeeper;
bool word;
bool closed[GATES];
short count[GATES];    // of a closed gate: 0, since it means nothing
short draining;
bool front_sleeps;     // the bit of `draining`
short sum;             // of a thread that has the word

bool asleep[THREADS + 1];
bool kept[THREADS + 1]; // has become timekeeper in this round
bool seen[THREADS + 1]; // is about to sleep on a state of this round
bool front_asleep;

bool writer_inside;    // ghosts
byte readers_inside;
byte wakes_due;        // the thread that is on its way to wake all readers, or one that becomes the timekeeper
#ifdef DESTROYS
byte users = THREADS;
bool destroyed;
#define TOUCH ASSERT(I4, !destroyed)
#else
#define TOUCH skip
#endif

#define KEEPS_READERS_OUT (writers || over)
#define ANY_ASLEEP (asleep[1] || asleep[2] || asleep[3])
#ifdef MUTANT_SLEEPS_UNCHECKED
#define MAY_SLEEP (!kept[me])
#elif defined(MUTANT_SLEEPS_UNANNOUNCED)
#define MAY_SLEEP (!kept[me] && seen[me] && KEEPS_READERS_OUT && timekeeper)
#elif defined(MUTANT_TAKES_WAITING_FOR_KEPT)
#define MAY_SLEEP (!kept[me] && seen[me] && KEEPS_READERS_OUT && readers_wait)
#else
// The state is as it was announced. (It may have been another in between: then it is the same again.)
#define MAY_SLEEP (!kept[me] && seen[me] && KEEPS_READERS_OUT && timekeeper && readers_wait)
#endif
#ifdef MUTANT_DRAINS_UNANNOUNCED
#define DRAIN_SAYS_SO true
#else
#define DRAIN_SAYS_SO front_sleeps
#endif
// leave_no_timekeeper_missing has nothing to do.
#define NO_TIMEKEEPER_MISSING (!KEEPS_READERS_OUT || (timekeeper && !kept[me]))

inline nobody_forgotten() {
    ASSERT(RS3, !ANY_ASLEEP || wakes_due > 0 || (readers_wait && KEEPS_READERS_OUT));
    ASSERT(RS4, !ANY_ASLEEP || wakes_due > 0 || timekeeper);
    ASSERT(RS5, !over || front)
}

inline enter_to_read() {
    ASSERT(RS1, !writer_inside);
    readers_inside++
}

inline enter_to_write() {
    ASSERT(RS1, !writer_inside && readers_inside == 0 && writers && !front);
    writer_inside = true
}

// hf_gate_enter. A reader that has waited leaves no timekeeper missing behind it.
inline enter_by_gate(node) {
    TOUCH;
    count[node]++;
    enter_to_read();
#ifndef MUTANT_TIMEKEEPER_ENTERS_QUIETLY
    if
    :: waited && !NO_TIMEKEEPER_MISSING -> goto entered_after_wait
    :: else
    fi;
#endif
    waited = false;
    kept[me] = false;
    goto holding_to_read
}

inline wake_one() {
    if
    :: asleep[1] -> asleep[1] = false
    :: asleep[2] -> asleep[2] = false
    :: asleep[3] -> asleep[3] = false
    :: else
    fi
}

// begin_round: the step on the state; then, if there is somebody to wake, wake_all.
inline begin_round() {
    TOUCH;
    writers = false;
    over = false;
    front = false;
    timekeeper = false;
    kept[1] = false;
    kept[2] = false;
    kept[3] = false;
    seen[1] = false;
    seen[2] = false;
    seen[3] = false;
    if
    :: readers_wait -> wakes_due++; wakes = true
    :: !readers_wait
    fi;
    readers_wait = false;
    nobody_forgotten()
}

inline wake_all() {
#ifndef MUTANT_ROUND_WAKES_NOBODY
    asleep[1] = false;
    asleep[2] = false;
    asleep[3] = false;
#endif
    wakes = false;
    wakes_due--;
    nobody_forgotten()
}

// let_readers_in.
inline open_gates(inside) {
#if GATES == 2
    atomic { TOUCH; closed[1] = false };
#endif
    atomic { TOUCH; closed[0] = false; count[0] = inside }
}

#define BEGIN_ROUND atomic { begin_round() }; if :: atomic { wakes -> wake_all() } :: !wakes fi

proctype Thread(byte me) {
    bool wakes;        // is to wake all
    bool waited;       // to read, and has been announced
#ifdef NESTS
    bool nested;
#endif
#ifdef DESTROYS
    bool last_round, last_user;
#endif

outside:
    if
    :: MAY_READ -> goto reading
    :: MAY_WRITE -> goto writing
#ifdef DESTROYS
    :: atomic { users--; goto finished }
#else
    :: goto finished
#endif
    fi;

    // hf_rwscl_enter_in_time, hf_gate_enter, wait_to_read
reading:
    if
#ifdef MUTANT_ENTERS_A_CLOSED_GATE
    :: atomic { true -> enter_by_gate(0) }
#else
    :: atomic { !closed[0] -> enter_by_gate(0) }
#endif
#if GATES == 2
    :: atomic { !closed[1] -> enter_by_gate(1) }
#endif
#ifdef NESTS
    // hf_rwscl_read_again by one that does not read
#ifdef MUTANT_JOINS_UNLOOKED
    :: atomic { !waited && closed[0] -> draining++; enter_to_read(); goto holding_to_read }
#else
    :: atomic { !waited && closed[0] && draining > 0 -> draining++; enter_to_read(); goto holding_to_read }
#endif
#endif
    // say_over: time is over for the readers
#ifdef MUTANT_OVER_WITHOUT_FRONT
    :: atomic { !over -> TOUCH; over = true; nobody_forgotten(); goto reading }
#else
    :: atomic {
           front && !KEEPS_READERS_OUT -> TOUCH;
           over = true;
           readers_wait = true;
           nobody_forgotten();
           goto reading
       }
#endif
    // hf_rwscl_read_out_of_turn
    :: atomic {
           !word && !front -> TOUCH;
           word = true;
           if
           :: writers -> goto reading_out_of_turn
           :: !writers -> goto has_word_to_read
           fi
       }
    // A try, or a deadline: leave_no_timekeeper_missing
    :: atomic { NO_TIMEKEEPER_MISSING -> TOUCH; kept[me] = false; waited = false; goto returned }
    :: atomic {
           !NO_TIMEKEEPER_MISSING && waited -> TOUCH;
           kept[me] = false;
           waited = false;
#ifdef MUTANT_TIMEKEEPER_NOT_REPLACED
           goto returned
#else
           timekeeper = false;
           wakes_due++;
           goto replacing_timekeeper
#endif
       }
    // announce, in the same step as the look before it
    :: atomic {
           KEEPS_READERS_OUT -> TOUCH;
           seen[me] = true;
           waited = true;
           if
#ifdef MUTANT_TAKES_WAITING_FOR_KEPT
           :: !timekeeper && !readers_wait ->
#else
           :: !timekeeper ->
#endif
               timekeeper = true;
#ifndef MUTANT_NOBODY_KEEPS_TIME
               kept[me] = true
#endif
           :: else
           fi;
#ifndef MUTANT_SLEEPS_UNANNOUNCED
           readers_wait = true
#endif
       }
    fi;
    if
    :: atomic { MAY_SLEEP -> TOUCH; seen[me] = false; asleep[me] = true; nobody_forgotten() };
       atomic { !asleep[me] -> goto reading }
    :: atomic { seen[me] = false; goto reading } // the timekeeper's time, another state, a signal, a stray wake
    fi;

replacing_timekeeper:
    atomic { wake_one(); wakes_due--; goto returned };

#ifndef MUTANT_TIMEKEEPER_ENTERS_QUIETLY
entered_after_wait:
    atomic {
        TOUCH;
        waited = false;
        if
        :: NO_TIMEKEEPER_MISSING -> kept[me] = false; goto holding_to_read
        :: else -> kept[me] = false; timekeeper = false; wakes_due++
        fi
    };
    atomic { wake_one(); wakes_due--; goto holding_to_read };
#endif

reading_out_of_turn:
    open_gates(0);
    BEGIN_ROUND;
has_word_to_read:
    atomic {
        TOUCH;
        ASSERT(RS1, !closed[0]);
        count[0]++;
        enter_to_read();
        waited = false;
        kept[me] = false
    };
    atomic { TOUCH; word = false };

holding_to_read:
#ifdef NESTS
    // hf_rwscl_read_again by one that reads. It polls while the front writer is about to count it, or to let it in.
    if
    :: !nested ->
       if
       :: atomic { !closed[0] -> count[0]++; readers_inside++; nested = true }
#ifndef MUTANT_READS_AGAIN_IN_TURN
       :: atomic { closed[0] && draining > 0 -> draining++; readers_inside++; nested = true }
#endif
       fi
    :: true
    fi;
#endif
    // hf_rwscl_read_unlock, on any node
leaving:
    atomic {
        TOUCH;
        readers_inside--;
#ifdef DESTROYS
        if
        :: users--; last_round = true
        :: true
        fi;
#endif
        // A closed gate's count means nothing.
        if
#if GATES == 2
        // Not so that the counts drift apart for ever: their sum is what matters.
        :: closed[0] && (closed[1] || draining > -1)
        :: closed[1] && !closed[0] && draining > -1
        :: !closed[0] && count[0] > -1 -> count[0]--; goto left
        :: !closed[1] && count[1] > -1 -> count[1]--; goto left
#else
        :: closed[0]
        :: !closed[0] -> count[0]--; goto left
#endif
        fi
    };
#ifdef MUTANT_LEAVES_BY_THE_GATE_ONLY
    goto left;
#endif
    // leave_drain
    atomic {
        TOUCH;
        draining--;
        if
        :: draining == 0 && front_sleeps
        :: else -> goto left
        fi
    };
#ifdef MUTANT_READER_LOOKS_AGAIN
    atomic { TOUCH };
#endif
#ifdef MUTANT_LAST_WAKES_NOBODY
    skip;
#else
    front_asleep = false;
#endif
left:
#ifdef NESTS
    if
    :: nested -> nested = false; goto leaving
    :: !nested -> goto returned
    fi;
#else
    goto returned;
#endif

    // The word.
writing:
    if
    :: atomic { !word -> TOUCH; word = true }
    :: goto returned // a try, or a deadline
    fi;
    if
    :: atomic { writers -> TOUCH; enter_to_write(); goto holding_to_write }
    // The slice is over, and somebody waits.
    :: writers && readers_wait ->
        open_gates(0);
        BEGIN_ROUND
    :: !writers
    fi;

    // hf_rwscl_stands_back, or not
    if
    :: true
#ifdef MUTANT_STANDS_BACK_DRAINING
    :: atomic { TOUCH; writers = true; front = true }; atomic { TOUCH; word = false }; goto writing
#else
    :: atomic { TOUCH; word = false }; goto writing
#endif
    fi;

    // hf_rwscl_wait_in_front, or out of turn: at once
in_front:
    if
    :: goto draining_begins
    // Its sleep ends by itself: when it goes on is a choice.
    :: atomic { TOUCH; front = true }
    fi;
    if
    :: goto draining_begins
    :: true // withdraw
    fi;
#ifdef MUTANT_WITHDRAWS_QUIETLY
    atomic { TOUCH; front = false; over = false; nobody_forgotten() };
#else
    BEGIN_ROUND;
#endif
gives_up:
    if
    :: goto gives_word
    :: true // hf_rwscl_write_out_of_turn
    fi;

    // close_gates
draining_begins:
    atomic { TOUCH; writers = true; front = true; nobody_forgotten() };
#if GATES == 2
    atomic { TOUCH; sum = count[1]; count[1] = 0; closed[1] = true };
#endif
#ifdef MUTANT_CLOSES_ONE_GATE
    atomic { TOUCH; sum = sum + count[0] };
#else
    atomic { TOUCH; sum = sum + count[0]; count[0] = 0; closed[0] = true };
#endif
    atomic {
        TOUCH;
        draining = draining + sum;
        sum = 0;
        if
        :: draining == 0 -> goto drained
        :: draining != 0
        fi
    };

    // drain
drains:
    if
    :: atomic { draining == 0 -> TOUCH; goto drained }
    :: atomic {
           TOUCH;
#ifndef MUTANT_DRAINS_UNANNOUNCED
           front_sleeps = true;
#endif
           if
           :: draining == 0 -> goto drained
           :: draining != 0 -> sum = draining
           fi
       }
    // undo_drain: at the deadline; a try; or the drain takes too long
    :: atomic {
           TOUCH;
           sum = draining;
           draining = 0;
           front_sleeps = false;
           if
           :: sum == 0 -> goto drained
           :: sum != 0
           fi
       };
#ifdef MUTANT_UNDO_FORGETS_WHO_IS_INSIDE
       sum = 0;
#endif
       open_gates(sum);
       sum = 0;
       BEGIN_ROUND;
undone:
       if
       :: goto gives_up
       :: goto in_front
       fi
    fi;
    if
    :: atomic { draining == sum && DRAIN_SAYS_SO -> TOUCH; sum = 0; front_asleep = true };
       atomic { !front_asleep -> goto drains }
    :: atomic { sum = 0; goto drains } // it was another, a signal, a stray wake
    fi;

    // say_readers_wait, begin_writing
drained:
    if
    :: atomic { TOUCH; readers_wait = true }
    :: true
    fi;
    atomic {
        TOUCH;
        ASSERT(RS1, draining == 0);
        front_sleeps = false;
        front = false;
        over = false;
        nobody_forgotten();
        enter_to_write()
    };

    // hf_rwscl_write_unlock
holding_to_write:
    atomic {
#ifdef DESTROYS
        if
        :: users--; last_round = true; last_user = (users == 0)
        :: true
        fi;
#endif
        writer_inside = false
    };
    if
    :: readers_wait ->
        open_gates(0);
        BEGIN_ROUND
    :: true
    fi;
gives_word:
    atomic { TOUCH; word = false };
#ifdef MUTANT_WRITER_LOOKS_AGAIN
    atomic { TOUCH };
#endif
returned:
#ifdef DESTROYS
    atomic {
        if
        :: last_round -> destroyed = destroyed || last_user
        :: !last_round -> goto outside
        fi
    };
#else
    goto outside;
#endif
finished:
    skip
}

init {
    atomic {
        byte thread;
        for (thread : 1 .. THREADS) {
            run Thread(thread)
        }
    }
}
