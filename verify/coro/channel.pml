// SPDX-License-Identifier: MIT OR Apache-2.0
// The coroutine channel: values that go from senders to receivers by its room or straight, its end, and waits with
// limits.
// C++ code: coro/include/holdfast/coro/channel.hpp (N1 to N3; put, get, close, suspend_unless, withdraw, after_wait),
// waiter.hpp (wait_list, reached, disarm).
//
// One step is one atomic instruction, or what is done under the guard. Tasks 1 and 3 send, 2 and 4 receive, each as
// often as ROUNDS; 1 and 2 may give up waiting. A value may be in the room at first. Somebody closes the
// channel, at any time; that it ends all waits hides no lost wake-up, since N2 is looked at whenever the guard is
// free. The last task that wants the channel destroys it. M3, W1 and W3 are those of wait.inc.
//
// N1  A value that was sent is received once or is in the channel at its end; one that was not sent is neither.
// N2  When the guard is free, receivers wait only while nothing is there, senders only while there is no room; but for
//     those that were cancelled.
// N3  After close() nothing is sent; receivers get nothing only when it is closed and nothing is there, or when they
//     were cancelled.
// ORDER  Values are received in the order in which they were put or their senders began to wait.
// And no deadlock: all tasks end.
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define AT_FIRST(one) ENTERS
#define LIMITED 2
#include "wait.inc"

bit N1, N2, N3, ORDER;

#define SENDS(one) (one == 1 || one == 3)
#define VALUE(one) (one + 3 * rounds[one]) // 1, 3; with two rounds 4, 6
#define BEFORE_ALL 2

chan room = [CAPACITY + 1] of { byte };
chan senders = [2] of { byte };
chan receivers = [2] of { byte };
bool closed;
bool done[TASKS + 1];  // party::done
byte value[TASKS + 1]; // party::value; 0: none
byte rounds[TASKS + 1];

byte first_free = 1;        // ghost
byte place[3 * ROUNDS + 1]; // ghost: of a value, in the order of their coming; 0: not here, or not any more
bool sent[3 * ROUNDS + 1];  // ghost: its sender was told so
bool had[3 * ROUNDS + 1];   // ghost: somebody has received it
bool is_last[TASKS + 1];      // ghost: counted in `left`; others may know it by its value

#define BEFORE(one, other) (one == other || place[one] == 0 || place[one] > place[other])
#if ROUNDS == 1
#define FIRST_OF_ALL(one) (BEFORE(1, one) && BEFORE(2, one) && BEFORE(3, one))
#else
#define FIRST_OF_ALL(one) (BEFORE(1, one) && BEFORE(2, one) && BEFORE(3, one) && BEFORE(4, one) && BEFORE(6, one))
#endif
#define WAITS(one) (linked[one] && state[one] == WAITING)
#define GUARDED                                                                                                        \
    ASSERT(N2, !(WAITS(2) || WAITS(4)) || (len(room) == 0 && !WAITS(1) && !WAITS(3)));                                 \
    ASSERT(N2, !(WAITS(1) || WAITS(3)) || len(room) == CAPACITY);                                                      \
    ASSERT(N3, !closed || (!WAITS(1) && !WAITS(2) && !WAITS(3) && !WAITS(4)))

inline note_coming(one) {
    if
    :: place[one] == 0 -> place[one] = first_free; first_free++
    :: else // it waited
    fi
}

inline note_received(one) {
    ASSERT(N1, !had[one]);
    ASSERT(ORDER, FIRST_OF_ALL(one));
    had[one] = true;
    place[one] = 0
}

// wait_list::choose(): in `let_go`, or 0.
inline choose(list) {
    let_go = 0;
    do
    :: len(list) > 0 ->
        list?let_go;
        TOUCH_WAIT(let_go);
        linked[let_go] = false;
        if
#ifdef MUTANT_CHOOSES_THE_CANCELLED
        :: true -> state[let_go] = CHOSEN; break
#else
        :: state[let_go] == WAITING -> state[let_go] = CHOSEN; break
        :: state[let_go] == CANCELLED -> let_go = 0
#endif
        fi
    :: len(list) == 0 -> break
    od
}

// put(), under the guard
inline put_value() {
    if
#ifndef MUTANT_SENDS_AFTER_THE_END
    :: closed -> done[task] = false
    :: !closed ->
#else
    :: true ->
#endif
#ifndef MUTANT_PUTS_PAST_RECEIVERS
        choose(receivers);
#endif
        if
        :: let_go != 0 ->
            note_coming(value[task]);
            note_received(value[task]);
            value[let_go] = value[task];
            done[let_go] = true;
            done[task] = true
        :: let_go == 0 && len(room) == CAPACITY -> done[task] = false
#if CAPACITY > 0
        :: let_go == 0 && len(room) < CAPACITY ->
            note_coming(value[task]);
            room!value[task];
            done[task] = true
#endif
        fi;
        ASSERT(N3, !closed || !done[task])
    fi
}

// get(), under the guard
inline get_value() {
    value[task] = 0;
#if CAPACITY > 0
    if
#ifdef MUTANT_TAKES_FROM_SENDERS_FIRST
    :: len(room) > 0 && len(senders) == 0 -> room?value[task]
#else
    :: len(room) > 0 -> room?value[task]
#endif
    :: else
    fi;
#endif
    let_go = 0;
#ifdef MUTANT_ROOM_IS_NOT_REFILLED
    if
    :: value[task] == 0 -> choose(senders)
    :: else
    fi;
#else
    choose(senders);
#endif
    if
    :: let_go != 0 ->
#ifndef MUTANT_SENDER_IS_NOT_TOLD
        done[let_go] = true;
#endif
        if
        :: value[task] == 0 -> value[task] = value[let_go] // a rendezvous
#if CAPACITY > 0
        :: value[task] != 0 -> room!value[let_go]
#endif
        fi
    :: let_go == 0
    fi;
    done[task] = (value[task] != 0);
    if
    :: done[task] -> note_received(value[task])
    :: !done[task]
    fi
}

inline attempt() {
    if
    :: SENDS(task) -> put_value()
    :: !SENDS(task) -> get_value()
    fi;
    is_last[task] = done[task] && rounds[task] == ROUNDS - 1;
    left = left + is_last[task]
}

inline schedule_let_go() {
    if
    :: let_go != 0 ->
#ifndef MUTANT_LET_GO_IS_FORGOTTEN
        put(ready, let_go);
#endif
        let_go = 0
    :: let_go == 0
    fi
}

inline begin_wait() {
    atomic {
        state[task] = WAITING;
        linked[task] = true;
        if
        :: SENDS(task) -> note_coming(value[task]); senders!task
        :: !SENDS(task) -> receivers!task
        fi;
        busy[task] = false;
        waits = true
    }
}

// suspend_unless(), in await_suspend
inline suspend_unless() {
    atomic {
        TOUCH;
        at[task] = RESUMED;
#ifdef MUTANT_LINKS_UNLOOKED
        done[task] = false;
#else
        attempt();
#endif
        if
#ifdef MUTANT_LINKS_AFTER_THE_END
        :: !done[task] && state[task] == ARMING -> begin_wait()
#else
        :: !done[task] && !closed && state[task] == ARMING -> begin_wait()
#endif
        :: else // done, closed, or cancelled just now
        fi;
        GUARDED
    };
    schedule_let_go()
}

// await_resume()
inline come_back() {
    if
#ifdef MUTANT_DOES_NOT_DISARM
    :: task <= LIMITED
#else
    :: atomic { task <= LIMITED && !reaching[task] -> armed[task] = false } // it waits for a task that is at it
#endif
    :: task > LIMITED
    fi;
    atomic {
        frame[task] = false;
        if
        :: !SENDS(task) && !done[task] ->
            ASSERT(N3, state[task] == CANCELLED || (closed && len(room) == 0))
        :: else
        fi;
        end_round()
    }
}

// The awaiter's end: it is told what became of its value.
inline end_round() {
    if
    :: SENDS(task) ->
        sent[value[task]] = done[task];
        place[value[task]] = (done[task] -> place[value[task]] : 0)
    :: !SENDS(task)
    fi;
    rounds[task]++;
    value[task] = 0;
    if
    :: rounds[task] < ROUNDS -> at[task] = ENTERS
    :: rounds[task] == ROUNDS -> at[task] = OUT; left = left + !is_last[task]
    fi
}

inline resume() {
    do
    :: at[task] == ENTERS -> // await_ready(): try_send(), try_receive()
        atomic {
            TOUCH;
            value[task] = (SENDS(task) -> VALUE(task) : 0);
            attempt();
            waits = !done[task];
            GUARDED
        };
        schedule_let_go();
#ifdef MUTANT_LOOKS_AGAIN
        TOUCH;
#endif
        atomic {
            if
            :: !waits -> end_round()
            :: waits -> waits = false; at[task] = SUSPENDS
            :: waits && task <= LIMITED -> waits = false; end_round() // the limit has gone
            fi
        }
    :: at[task] == SUSPENDS -> // prepare() and arm()
        atomic { state[task] = ARMING; frame[task] = true; armed[task] = (task <= LIMITED); at[task] = ARMED }
    :: at[task] == ARMED ->
        suspend_unless();
        if
        :: waits -> break
        :: !waits
        fi
    :: at[task] == RESUMED -> come_back()
    :: at[task] == OUT ->
        atomic {
            busy[task] = false;
            ended++;
            destroyed = (left == TASKS && closed) // nobody wants it any more
        };
        break
    od
}

#if ROUNDS == 1
#define EACH(is) (is(1) && is(2) && is(3))
#else
#define EACH(is) (is(1) && is(2) && is(3) && is(4) && is(6))
#endif
#define IS_THERE(one) (place[one] != 0)
#if ROUNDS == 1
#define THERE (IS_THERE(1) + IS_THERE(2) + IS_THERE(3))
#else
#define THERE (IS_THERE(1) + IS_THERE(2) + IS_THERE(3) + IS_THERE(4) + IS_THERE(6))
#endif
#define IS_WHERE_IT_SHOULD(one) ((had[one] + (place[one] != 0)) == sent[one])

proctype Worker() {
    byte task, let_go;
    bool waits;

    do
    :: ready?task ->
        resume();
        atomic { waits = false; task = 0 }
    :: ended == TASKS -> ASSERT(N1, EACH(IS_WHERE_IT_SHOULD) && THERE == len(room)); break
    od
}

proctype Closer() {
    chan chosen = [TASKS] of { byte };
    byte let_go;

    atomic {
        TOUCH;
        closed = true;
        do
        :: true ->
            choose(receivers);
            if
            :: let_go != 0 -> chosen!let_go
            :: let_go == 0 -> break
            fi
        od;
#ifdef MUTANT_THE_END_DROPS_WHAT_IS_THERE
        do
        :: len(room) > 0 -> room?let_go
        :: len(room) == 0 -> break
        od;
#endif
#ifndef MUTANT_SENDERS_ARE_FORGOTTEN
        do
        :: true ->
            choose(senders);
            if
            :: let_go != 0 -> chosen!let_go
            :: let_go == 0 -> break
            fi
        od;
#endif
        GUARDED
    };
    do
    :: len(chosen) > 0 -> chosen?let_go; put(ready, let_go); let_go = 0
    :: len(chosen) == 0 -> break
    od
}

// limited_waiter::reached and party::withdraw.
proctype Limit(byte one) {
    byte other, turns;

    do
    :: atomic {
           armed[one] ->
           TOUCH_WAIT(one);
           if
           :: state[one] == ARMING -> state[one] = CANCELLED; armed[one] = false
           :: state[one] == WAITING ->
               state[one] = CANCELLED;
               reaching[one] = true;
               place[value[one]] = 0
           :: else -> armed[one] = false // it was chosen
           fi
       };
        if
        :: reaching[one] ->
#ifndef MUTANT_STAYS_LINKED
            atomic { // under the guard
                TOUCH;
                if
                :: SENDS(one) -> unlink(senders, one)
                :: !SENDS(one) -> unlink(receivers, one)
                fi
            };
#endif
            put(ready, one);
            atomic { reaching[one] = false; armed[one] = false }
        :: !reaching[one]
        fi
    :: ended == TASKS -> break
    od
}

init {
    byte i;
    atomic {
#if CAPACITY > 0
        if
        :: room!BEFORE_ALL;
            sent[BEFORE_ALL] = true;
            place[BEFORE_ALL] = first_free;
            first_free++
        :: true
        fi;
#endif
        begin_all();
        i = 1;
        do
        :: i <= LIMITED -> run Limit(i); i++
        :: i > LIMITED -> break
        od;
        i = 0;
        do
        :: i < WORKERS -> run Worker(); i++
        :: i == WORKERS -> break
        od;
        run Closer()
    }
}
