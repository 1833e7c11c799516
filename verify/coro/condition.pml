// SPDX-License-Identifier: MIT OR Apache-2.0
// The coroutine condition variable: waiters that move from its list to the mutex's, become the mutex's owner at once,
// or reach a limit.
// C++ code: coro/include/holdfast/coro/condition_variable.hpp (C1, C2, C4), mutex.hpp (own_or_wait, unlock_suspended),
// waiter.hpp (W1 to W4), policy.hpp.
//
// One step is one atomic instruction, or what is done under a guard. Task 1 waits once, within a limit that may pass at
// any time; was it notified, it passes that on. Task 2 waits until there is a token, without a limit. Task 3
// makes the one token and notifies, one or all, with the mutex or after it. So nothing but that notification, or
// what task 1 passes on, can let task 2 go on. Either may await its notification: then a task that it makes the mutex's
// owner gets its worker, and it is queued. Sleeping and what combines are not here (mutex.pml, with.pml).
//
// M1  Exclusion.
// C2  A task that goes on after a wait, or after waiting for the mutex, has the mutex.
// W1  A coroutine is queued once, and not while it runs.
// C4  While a notification is awaited, nobody but its own task touches its awaiter; nor that task, once it is queued.
// W3  Nobody touches the wait of a coroutine that has gone on: neither who notified it nor its limit (W4).
// And no deadlock: all tasks end (C1: no notification is lost).
#ifndef WORKERS
#define WORKERS 2
#endif
#define TASKS 3
#define NOTIFIER 3
#define CHAIN_MAX 2

bit M1, C2, C4, W1, W3;
#define ASSERT(invariant, condition) assert(invariant || (condition))

// Of a wait for the condition.
#define ARMING 0
#define WAITING 1
#define CHOSEN 2
#define CANCELLED 3
#define COMMITTED 4
// Where a task is when it is resumed.
#define LOCKS 0
#define RESUMED 1 // it waited, for the mutex or for the condition
#define INSIDE 2
#define UNLOCKED 3
// Whom to notify.
#define NOBODY 0
#define ONE 1
#define ALL 2

chan ready = [TASKS] of { byte };
chan urgent = [TASKS] of { byte };  // owners
chan waiters = [TASKS] of { byte }; // the mutex's list
chan waits = [TASKS] of { byte };   // the condition variable's
bool held;
bool linked[TASKS + 1]; // in `waits`
byte state[TASKS + 1];
byte at[TASKS + 1];
bool waited[TASKS + 1];
bool was_notified[TASKS + 1];
bool armed, reaching; // the limit of task 1; it is being reached
bool token;
byte tells[TASKS + 1]; // whom the task is about to notify
bool later[TASKS + 1]; // when it has unlocked
bool awaits[TASKS + 1]; // gives its worker to an owner
bool told[TASKS + 1];  // it is, or has been

byte owner, inside, ended; // ghost: `owner` has the mutex
bool busy[TASKS + 1];      // ghost: queued, or on a worker
bool frame[TASKS + 1];     // ghost: the wait's awaiter is there
bool at_hand[TASKS + 1];   // ghost: the notification's awaiter is there, and its task runs
#define TOUCH(one) ASSERT(W3, frame[one])
// What `task` does with the mutex.
#define HAS_NEWS (task == NOTIFIER || was_notified[task] && task == 1)
#define LEAVES (task == NOTIFIER || token || task == 1 && waited[task])

inline put(queue, one) {
    atomic {
        ASSERT(W1, !busy[one]);
        busy[one] = true;
        queue!one
    }
}

// choose_or_release(), under the mutex's guard, by `task`: the next owner in `next`, or 0 and the mutex is free.
inline choose_or_release() {
    next = 0;
    do
    :: len(waiters) > 0 ->
        waiters?next;
#ifdef MUTANT_STAYS_CANCELLABLE
        if
        :: next != 1 || !frame[next] || state[next] == COMMITTED -> break
        :: else -> next = 0 // it was taken for cancelled
        fi
#else
        break
#endif
    :: len(waiters) == 0 -> held = false; break
    od;
    owner = next
}

// hand_over: gives this thread to `next`, or, at the end of a chain, makes it wait for a worker.
inline pass_on() {
    if
    :: atomic { chain + 1 >= CHAIN_MAX -> chain = 0 };
        put(urgent, next);
        next = 0
    :: atomic { chain + 1 < CHAIN_MAX -> chain++; ASSERT(W1, !busy[next]); busy[next] = true } // into the slot
    fi
}

// basic_condition_variable::choose, under its guard: the oldest that can be, in `one`, or 0.
inline choose_waiter(one) {
    one = 0;
    do
    :: len(waits) > 0 ->
        waits?one;
        linked[one] = false;
        if
#ifdef MUTANT_CHOOSES_THE_CANCELLED
        :: state[one] != CHOSEN -> state[one] = CHOSEN; break
#else
        :: state[one] == WAITING -> state[one] = CHOSEN; break
        :: state[one] == CANCELLED -> one = 0
#endif
        fi
    :: len(waits) == 0 -> break
    od
}

// owns_again and own_or_wait: is `one` the owner, in `mine`?
inline owns_again(one, notified) {
    atomic {
        TOUCH(one);
        was_notified[one] = notified;
#ifndef MUTANT_STAYS_CANCELLABLE
        state[one] = COMMITTED
#endif
    };
#ifdef MUTANT_LOOKS_WITHOUT_THE_GUARD
    if
    :: atomic { !held -> held = true; owner = one; mine = true }
    :: held -> atomic { waiters!one; mine = false }
    fi;
#else
    atomic {
        TOUCH(one);
        if
        :: !held -> held = true; owner = one; mine = true
#ifdef MUTANT_GOES_ON_UNLOCKED
        :: held -> mine = true
#else
        :: held -> waiters!one; mine = false
#endif
        fi
    };
#endif
#ifdef MUTANT_NOTIFIER_LOOKS_BACK
    TOUCH(one);
#endif
}

// schedule_owner
inline schedule_if_mine(one) {
    if
#ifdef MUTANT_OWNER_IS_NOT_QUEUED
    :: mine
#else
    :: mine -> TOUCH(one); put(urgent, one)
#endif
    :: !mine
    fi;
    mine = false
}

// hand_over(): exchange() or end_chain(). The task is as it was before the notification, but queued.
inline give_worker() {
    ASSERT(C4, at_hand[task]);
    at_hand[task] = false;
    busy[task] = false;
    if
    :: atomic { chain + 1 >= CHAIN_MAX -> chain = 0 };
#ifdef MUTANT_CHAIN_ENDS_WITHOUT_THE_OWNER
        next = 0;
#else
        put(urgent, next);
        next = 0;
#endif
        gave = true;
        put(ready, task)
    :: atomic { chain + 1 < CHAIN_MAX -> chain++; ASSERT(W1, !busy[next]); busy[next] = true }; // the slot
        gave = true;
#ifndef MUTANT_NOTIFIER_IS_NOT_QUEUED
        put(ready, task)
#endif
    fi
}

// What becomes of a waiter that was notified: its notification keeps the first owner, whom it gives its worker.
inline take_owner(one) {
    if
#ifdef MUTANT_KEEPS_WHO_DOES_NOT_OWN
    :: awaits[task] && next == 0 -> next = one; mine = false
#else
    :: awaits[task] && next == 0 && mine -> ASSERT(C4, at_hand[task]); next = one; mine = false
#endif
#ifdef MUTANT_OWNER_IS_ALSO_QUEUED
    :: else -> schedule_if_mine(one)
    fi;
    if
    :: next == one -> put(urgent, one)
    :: else
    fi
#else
    :: else -> schedule_if_mine(one)
    fi
#endif
}

// notify(), and await_suspend() of a notification that has found an owner: then `next` is not 0. There are two waiters
// at most.
inline notify() {
    atomic {
        choose_waiter(woken);
        if
        :: tells[task] == ALL -> choose_waiter(second)
        :: tells[task] == ONE
        fi;
        tells[task] = NOBODY;
        at_hand[task] = awaits[task]
    };
    do
    :: woken != 0 ->
        owns_again(woken, true);
        take_owner(woken);
#ifdef MUTANT_HANDS_OVER_BEFORE_ALL_ARE_TOLD
        if
        :: next != 0 && at_hand[task] -> give_worker()
        :: else
        fi;
#endif
#ifdef MUTANT_OTHERS_ARE_FORGOTTEN
        if
        :: next != 0 -> second = 0
        :: else
        fi;
#endif
        atomic { woken = second; second = 0 }
    :: woken == 0 -> break
    od;
    if
    :: next != 0 && at_hand[task] -> give_worker()
    :: else -> at_hand[task] = false
    fi
}

// wait_awaiter: linked first, then the mutex is given on. Until then nobody can let the caller go on.
inline link_wait() {
    atomic {
        if
        :: state[task] == ARMING -> state[task] = WAITING; linked[task] = true; waits!task; links = true
        :: state[task] == CANCELLED -> links = false // while it came here: it goes on, with the mutex
        fi
    }
}

// unlock_suspended()
inline release_suspended() {
    atomic { inside--; busy[task] = false; at[task] = RESUMED; choose_or_release() };
    if
#ifndef MUTANT_NEXT_OWNER_IS_FORGOTTEN
    :: next != 0 -> pass_on()
#else
    :: next != 0 -> next = 0
#endif
    :: next == 0
    fi
}

// await_resume() after a wait: W4, the limit is disarmed, which waits for a task that is at it.
inline disarm() {
    if
#ifndef MUTANT_DOES_NOT_DISARM
    :: atomic { task == 1 && !reaching -> armed = false }
#else
    :: task == 1
#endif
    :: task != 1
    fi;
    frame[task] = false
}

// The task's coroutine, from its start or from a resumption, until it suspends or ends. Leaves in `next` whom this
// worker runs after it, or 0.
inline resume() {
    do
    :: at[task] == LOCKS ->
        if
        :: atomic { !held -> held = true; owner = task; at[task] = INSIDE; inside++ }
        :: atomic { held -> busy[task] = false; at[task] = RESUMED; waiters!task; next = 0 };
            break
        fi;
        ASSERT(M1, inside == 1)
    :: at[task] == RESUMED ->
        if
        :: waited[task] -> disarm()
        :: !waited[task]
        fi;
        atomic { ASSERT(C2, owner == task); at[task] = INSIDE; inside++; ASSERT(M1, inside == 1) }
    :: tells[task] != NOBODY && (at[task] == UNLOCKED || !later[task]) ->
        notify();
        if
#ifdef MUTANT_OWNER_IS_LOST
        :: gave -> gave = false; next = 0; break
#else
        :: gave -> gave = false; break
#endif
#ifdef MUTANT_NOTIFIER_RUNS_ON
        :: gave -> gave = false
#endif
        :: !gave
        fi
    :: at[task] == INSIDE && !LEAVES ->
        atomic { state[task] = ARMING; waited[task] = true; frame[task] = true; armed = (armed || task == 1) };
#ifdef MUTANT_UNLOCKS_BEFORE_IT_LINKS
        atomic { inside--; at[task] = RESUMED; choose_or_release() };
        link_wait();
        atomic { busy[task] = false };
        if
        :: next != 0 -> pass_on()
        :: next == 0
        fi;
        break
#else
        link_wait();
        if
        :: links -> release_suspended(); break
        :: !links -> disarm()
        fi
#endif
    :: atomic {
           at[task] == INSIDE && LEAVES && HAS_NEWS && !told[task] ->
           told[task] = true;
           token = (token || task == NOTIFIER);
           if
           :: tells[task] = ONE
           :: tells[task] = ALL
           fi;
           if
           :: later[task] = true
           :: later[task] = false
           fi;
           if
           :: awaits[task] = true
           :: awaits[task] = false
           fi
       }
    :: at[task] == INSIDE && LEAVES && (told[task] || !HAS_NEWS) && (tells[task] == NOBODY || later[task]) ->
        atomic { inside--; at[task] = UNLOCKED; choose_or_release(); busy[task] = (next == 0) };
        if
        :: next != 0 -> // exchange
            if
            :: atomic { chain + 1 >= CHAIN_MAX -> chain = 0 };
                put(urgent, next);
                next = 0;
                put(ready, task)
            :: atomic { chain + 1 < CHAIN_MAX -> chain++; ASSERT(W1, !busy[next]); busy[next] = true }; // the slot
                put(ready, task)
            fi;
            break
        :: next == 0
        fi
    :: at[task] == UNLOCKED && tells[task] == NOBODY ->
        atomic { busy[task] = false; ended++; next = 0 };
        break
    od
}

proctype Worker() {
    byte task, next, chain, woken, second;
    bool mine, links, gave;

    do
    :: atomic { urgent?task -> chain = (chain + 1) % CHAIN_MAX };
again:
        resume();
        atomic { links = false; task = next; next = 0 };
        if
        :: task != 0 -> goto again
        :: task == 0
        fi
    :: atomic { ready?task -> chain = 0 }; // first, where a chain has ended
        goto again
    :: ended == TASKS -> break
    od
}

// limited_waiter::reached and withdraw, for task 1, on the thread of a timer or of a task that requests a stop.
proctype Limit() {
    byte other, turns;
    bool mine;

    do
    :: atomic {
           armed ->
           TOUCH(1);
           if
           :: state[1] == ARMING -> state[1] = CANCELLED; break // await_suspend sees it
           :: state[1] == WAITING -> state[1] = CANCELLED; reaching = true
           :: else -> break // it was notified
           fi
       };
        atomic { // under the condition variable's guard
            turns = (linked[1] -> len(waits) : 0);
            linked[1] = false;
            do
            :: turns > 0 ->
                waits?other;
                if
                :: other != 1 -> waits!other
                :: other == 1
                fi;
                turns--
            :: turns == 0 -> break
            od;
            other = 0
        };
#ifdef MUTANT_WITHDRAWN_GOES_ON_UNLOCKED
        put(ready, 1);
#else
        owns_again(1, false);
        schedule_if_mine(1);
#endif
        reaching = false;
        break
    :: ended == TASKS -> break
    od
}

init {
    byte i = 1;
    atomic {
        do
        :: i <= TASKS -> busy[i] = true; ready!i; i++
        :: i > TASKS -> break
        od;
        i = 0;
        run Limit();
        do
        :: i < WORKERS -> run Worker(); i++
        :: i == WORKERS -> break
        od
    }
}
