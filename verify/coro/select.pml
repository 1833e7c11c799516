// SPDX-License-Identifier: MIT OR Apache-2.0
// A task that receives from two channels at once, within a limit; senders of two values to each, which may find no room
// and wait; another receiver at the first channel; somebody who closes the second.
// C++ code: coro/include/holdfast/coro/select.hpp (await_ready, receives_or_links, await_suspend, await_resume,
// withdraw), channel.hpp (selection, choose_receiver, put, get, close).
//
// One step is one atomic instruction, or what is done under a channel's guard. Channels have room for one value. Values
// are 1 and 2, of the channel with that number. What becomes of single waits is in channel.pml.
//
// N1  A value that was sent is received once, or is still there.
// N4  The selection gets at most one value, and a task that waits is let go once.
// N2  While the selecting task waits, undecided, no value is in either channel.
// W3  Nobody touches a place after the task has gone on.
// And no deadlock: the selecting task ends: a value comes, or its limit.
bit N1, N2, N4, W3;
#define ASSERT(invariant, condition) assert(invariant || (condition))
#define CHANNELS 2

// Of the selection.
#define ARMING 0
#define WAITING 1
#define DECIDED 2

byte word;
byte room[CHANNELS + 1];      // values there, at most one
bool closed[CHANNELS + 1];
bool linked[CHANNELS + 1];    // the selecting task's place, in the list of receivers
bool other_waits;             // the other receiver, behind or before it: at the first channel
byte place[CHANNELS + 1];     // what was put there
bool armed, reaching, passed; // the limit
bool resumed_by;              // it was let go
bool frame;                   // ghost: the wait is there
bool waits;                   // ghost: it is suspended
byte got;                     // ghost: values that the selecting task has received
byte other_got;               // ghost
byte sent;                    // ghost: values that were taken from senders
bool over;

#define TOUCH_PLACE ASSERT(W3, frame)
#define UNDECIDED (waits && word == WAITING)
#define GUARDED ASSERT(N2, !UNDECIDED || (room[1] == 0 && room[2] == 0))

// choose_receiver() and put(), under the guard; then schedule() without it.
inline put(at) {
    atomic {
        lets_go = false;
        done = false;
        if
        :: closed[at] -> done = true // dropped
        :: !closed[at] && linked[at] ->
            TOUCH_PLACE;
            linked[at] = false;
            if
#ifdef MUTANT_DOES_NOT_DECIDE
            :: true -> lets_go = (word == WAITING); place[at]++; sent++; done = true
#else
            :: word == DECIDED // late: passed by
            :: word == ARMING -> word = DECIDED; place[at]++; sent++; done = true
            :: word == WAITING -> word = DECIDED; place[at]++; sent++; lets_go = true; done = true
#endif
            fi
        :: !closed[at] && !linked[at]
        fi;
        if
        :: !done && at == 1 && other_waits -> other_waits = false; other_got++; sent++; done = true
        :: !done && !(at == 1 && other_waits) && room[at] == 0 -> room[at]++; sent++; done = true
        :: !done && !(at == 1 && other_waits) && room[at] > 0
        :: done
        fi;
        GUARDED
    };
    let_it_go()
}

inline let_it_go() {
    if
    :: lets_go ->
        atomic {
            ASSERT(N4, !resumed_by && waits);
            resumed_by = true;
            lets_go = false
        }
    :: !lets_go
    fi
}

proctype Sender(byte at) {
    bool lets_go, done;
    byte values = 2;

    do
    :: values > 0 && !over ->
        put(at);
        if
        :: done -> values--
        :: !done -> (room[at] == 0 || over) // it waits for room; a receive takes its value along: here it tries again
        fi
    :: values == 0 || over -> break
    od
}

// close(), of the second.
proctype Closer() {
    bool lets_go;

    atomic {
        closed[2] = true;
        if
        :: linked[2] ->
            TOUCH_PLACE;
            linked[2] = false;
            if
            :: word == DECIDED
            :: word == ARMING -> word = DECIDED
            :: word == WAITING -> word = DECIDED; lets_go = true
            fi
        :: !linked[2]
        fi
    };
    let_it_go()
}

// The other receiver: one value of the first, if it comes in time.
proctype Other() {
    if
    :: atomic { room[1] > 0 -> room[1]--; other_got++ }
    :: atomic { room[1] == 0 -> other_waits = true }
    :: over
    fi
}

// limited_waiter::reached and withdraw.
proctype Limit() {
    bool lets_go;

    if
    :: atomic { armed -> reaching = true; armed = false; passed = true };
        atomic {
            TOUCH_PLACE;
            if
#ifdef MUTANT_LIMIT_DOES_NOT_DECIDE
            :: true -> lets_go = (word == WAITING)
#else
            :: word == DECIDED
            :: word == ARMING -> word = DECIDED
            :: word == WAITING -> word = DECIDED; lets_go = true
#endif
            fi
        };
        let_it_go();
        reaching = false
    :: over
    fi
}

// receives_or_links()
inline receives_or_links(at) {
    atomic {
        if
#ifndef MUTANT_TAKES_THOUGH_IT_IS_DECIDED
        :: word == DECIDED -> ready = true
        :: word != DECIDED && room[at] > 0 ->
            word = DECIDED;
#else
        :: room[at] > 0 ->
            word = DECIDED;
#endif
            room[at]--;
            place[at]++;
            ready = true
#ifdef MUTANT_LINKS_UNLOOKED
        :: room[at] > 0 -> linked[at] = true
#endif
#ifndef MUTANT_TAKES_THOUGH_IT_IS_DECIDED
        :: word != DECIDED && room[at] == 0 -> linked[at] = !closed[at]
#else
        :: room[at] == 0 -> linked[at] = !closed[at]
#endif
        fi
    }
}

proctype Selects() {
    bool ready;
    byte at;

again:
    atomic { word = ARMING; frame = true; resumed_by = false; ready = false };
    armed = true;
    at = 1;
    do
    :: at <= CHANNELS && !ready -> receives_or_links(at); at++
    :: at > CHANNELS || ready -> break
    od;
    if
    :: ready
    :: !ready ->
        if
#ifdef MUTANT_WAITS_UNLOOKED
        :: atomic { true -> word = WAITING; waits = true };
#else
        :: word == DECIDED
        :: atomic { word == ARMING -> word = WAITING; waits = true; GUARDED };
#endif
            resumed_by
        fi
    fi;
    waits = false;
    // leave()
    atomic { !reaching -> armed = false };
    at = 1;
    do
    :: at <= CHANNELS ->
#ifndef MUTANT_STAYS_LINKED
        linked[at] = false;
#endif
        at++
    :: at > CHANNELS -> break
    od;
    atomic {
        frame = false;
        got = got + place[1] + place[2];
        ASSERT(N4, place[1] + place[2] <= 1);
        place[1] = 0;
        place[2] = 0
    };
    if
    :: got == 0 -> // closed, perhaps; or the limit
        if
        :: !passed -> goto again
        :: passed
        fi
    :: got > 0
    fi;
    over = true
}

// When all is over: what was taken from senders was received, or is there.
proctype Counts() {
    (over && _nr_pr == 2); // this one, and init
    ASSERT(N1, sent == got + other_got + room[1] + room[2])
}

init {
    atomic {
        run Counts();
        run Selects();
        run Sender(1);
        run Sender(2);
        run Other();
        run Closer();
        run Limit()
    }
}
