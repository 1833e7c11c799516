// SPDX-License-Identifier: MIT OR Apache-2.0
// The coroutine barrier: who comes, who waits, rounds that end between a task's coming and its wait, and limits.
// C++ code: coro/include/holdfast/coro/barrier.hpp (B1 to B3; take_at_once), waited_on.hpp (enter, withdraw),
// wait_awaiters.hpp, waiter.hpp (wait_list, reached, disarm).
//
// One step is one atomic instruction, or what is done under the guard; but the limit may be reached between enter()'s
// first look and its end. Each task comes as often as ROUNDS, not twice for the same round, which is once where a round
// is not of all; tasks 1 to LIMITED may give up waiting. The last task that wants the barrier destroys it.
// M3, W1 and W3 are those of wait.inc.
//
// B1  A wait ends, unless it is given up, after all of its round have come.
// B2  When the guard is free, nobody waits for a round that is over, but for those that were cancelled.
// And no deadlock: all tasks end, also those whose round was made full by one that gave up (B3).
#ifndef COUNT
#define COUNT 2
#endif
#define AT_FIRST(one) ENTERS
#define LIMITED 2
#include "wait.inc"

#if COUNT == TASKS
#define ROUNDS 2
#else
#define ROUNDS 1
#endif

bit B1, B2;

chan waiters = [TASKS] of { byte }; // the barrier's list
byte come;                          // come_
byte round;                         // round_
byte kind[TASKS + 1];               // waiter::kind: the round for which it came
byte turns_left[TASKS + 1];         // ghost: how often it will come again
byte came;                          // ghost: how many have, in all

#define WAITS(one) (linked[one] && state[one] == WAITING)
#define IN_TIME(one) (!WAITS(one) || kind[one] == round)
#define GUARDED ASSERT(B2, IN_TIME(1) && IN_TIME(2) && IN_TIME(3) && IN_TIME(4))
#define ALL_CAME(one) (came >= (kind[one] + 1) * COUNT)

// The await is over. A task that gave up does something else until its round is over, too.
inline end_wait() {
    if
#if ROUNDS > 1
    :: turns_left[task] > 0 ->
        turns_left[task]--;
        at[task] = ENTERS;
        away = (kind[task] == round);
        busy[task] = !away
#endif
    :: turns_left[task] == 0 -> at[task] = OUT; left++
    fi
}

// The part of take_at_once() that chooses.
inline choose_all() {
    do
    :: len(waiters) > 0 ->
        waiters?first;
        TOUCH_WAIT(first);
        linked[first] = false;
        if
#ifdef MUTANT_CHOOSES_THE_CANCELLED
        :: true -> state[first] = CHOSEN; chosen!first
#else
        :: state[first] == WAITING -> state[first] = CHOSEN; chosen!first
        :: state[first] == CANCELLED
#endif
        fi
#ifdef MUTANT_LETS_ONE_GO_ON
        ;
        break
#endif
    :: len(waiters) == 0 -> break
    od;
    first = 0
}

// take_at_once(), in await_ready(): comes.
inline arrive() {
    atomic {
        !guarded ->
        TOUCH;
        kind[task] = round;
        came++;
        come++;
        if
        :: come == COUNT ->
            come = 0;
            round++;
#ifndef MUTANT_LETS_NOBODY_GO_ON
            choose_all();
#endif
            ASSERT(B1, ALL_CAME(task));
            end_wait()
        :: come < COUNT -> at[task] = SUSPENDS
        :: come < COUNT && task <= LIMITED -> // the limit has gone
#ifdef MUTANT_WHO_GIVES_UP_HAS_NOT_COME
            come--;
            came--;
#endif
            end_wait()
        fi;
        GUARDED
    };
    do
    :: len(chosen) > 0 -> chosen?first; put(ready, first); first = 0
    :: len(chosen) == 0 -> break
    od
}

// enter(), in await_suspend(). `waits` is whether the coroutine stays suspended.
inline enter() {
    waits = false;
    if
    :: atomic { !guarded && state[task] == CANCELLED -> TOUCH; at[task] = RESUMED }
    :: atomic { !guarded && state[task] == ARMING -> TOUCH; guarded = true };
        atomic {
            if
#ifndef MUTANT_LINKS_UNLOOKED
            :: kind[task] != round ->
                at[task] = RESUMED;
                state[task] = CHOSEN // also when it was cancelled just now
            :: kind[task] == round && state[task] == ARMING ->
#else
            :: state[task] == ARMING ->
#endif
                state[task] = WAITING;
                linked[task] = true;
                waiters!task;
                at[task] = RESUMED;
                busy[task] = false;
                waits = true
            :: else -> at[task] = RESUMED // cancelled just now
            fi;
            guarded = false;
            GUARDED
        }
    fi
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
        ASSERT(B1, state[task] != CHOSEN || ALL_CAME(task));
        end_wait()
    }
}

inline resume() {
    do
    :: away -> break // perhaps on another worker by now
    :: !away && at[task] == ENTERS ->
        arrive();
#ifdef MUTANT_LOOKS_AGAIN
        TOUCH
#endif
    :: !away && at[task] == SUSPENDS -> // prepare() and arm()
        atomic { state[task] = ARMING; frame[task] = true; armed[task] = (task <= LIMITED); at[task] = ARMED }
    :: !away && at[task] == ARMED ->
        enter();
        if
        :: waits -> break
        :: !waits
        fi
    :: !away && at[task] == RESUMED -> come_back()
    :: !away && at[task] == OUT ->
        atomic {
            busy[task] = false;
            ended++;
            destroyed = (left == TASKS) // nobody wants it any more
        };
        break
    od
}

proctype Worker() {
    chan chosen = [TASKS] of { byte };
    byte task, first;
    bool waits, away;

    do
    :: ready?task ->
        resume();
        atomic { waits = false; away = false; task = 0 }
    :: ended == TASKS -> break
    od
}

// Brings those back that gave up, when their round is over.
#define IS_AWAY(one) (at[one] == ENTERS && !busy[one] && kind[one] < round)
proctype Elsewhere() {
    do
#if ROUNDS > 1
    :: atomic { IS_AWAY(1) -> put(ready, 1) }
    :: atomic { IS_AWAY(2) -> put(ready, 2) }
#endif
    :: ended == TASKS -> break
    od
}

// limited_waiter::reached and waited_on::withdraw.
proctype Limit(byte one) {
    byte other, turns;

    do
    :: atomic {
           armed[one] ->
           TOUCH_WAIT(one);
           if
           :: state[one] == ARMING -> state[one] = CANCELLED; armed[one] = false
           :: state[one] == WAITING -> state[one] = CANCELLED; reaching[one] = true
           :: else -> armed[one] = false // it was chosen
           fi
       };
        if
        :: reaching[one] ->
#ifndef MUTANT_STAYS_LINKED
            atomic {
                !guarded ->
                TOUCH;
#if COUNT > 2
                unlink(waiters, one)
#else
                if
                :: linked[one] -> linked[one] = false; waiters?other; other = 0 // nobody else waits
                :: !linked[one]
                fi
#endif
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
        i = 1;
        do
        :: i <= TASKS -> turns_left[i] = ROUNDS - 1; i++
        :: i > TASKS -> break
        od;
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
        run Elsewhere()
    }
}
