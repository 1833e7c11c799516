// SPDX-License-Identifier: MIT OR Apache-2.0
// The coroutine mutex under CES, and the pool that runs it: hand-overs through the slot, chains that end, a waiter that
// gives up, workers that fall asleep and are woken.
// C++ code: coro/include/holdfast/coro/mutex.hpp (M1 to M3), waiter.hpp (W1, W2), policy.hpp,
// coro/src/worker_sleep.hpp (P1 to P3), ready_work.hpp, pool.cpp.
//
// One step is one atomic instruction, or what is done under a guard. Each task locks and unlocks ROUNDS times; task 1
// gives up waiting whenever it likes. Once all rounds are over, a task that ends destroys the mutex, while others may
// still be on their way out. There is no order among the pool's queues here: a worker may take what it likes, as if it
// stole. Batches are left out.
//
// M1  Exclusion.
// M3  Nobody touches the mutex after it was destroyed.
// W1  A coroutine is resumed once for each time it is suspended: it is in one queue at most, and runs on one worker.
// P1  While a coroutine is ready and a worker sleeps, somebody searches, was notified, or is about to look for
//     sleepers.
// And no deadlock: all tasks end.
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TASKS
#define TASKS 3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define CHAIN_MAX 2

bit M1, M3, W1, P1;
#define ASSERT(invariant, condition) assert(invariant || (condition))

#define ARMING 0
#define WAITING 1
#define CHOSEN 2
#define CANCELLED 3
#define AWAKE 0
#define SLEEPING 1
#define NOTIFIED 2

chan ready = [TASKS] of { byte };   // common_, ready and stolen
chan urgent = [TASKS] of { byte };  // owners at the end of a chain
chan waiters = [TASKS] of { byte }; // the mutex's list
bool held;
byte state[TASKS + 1];
bool linked[TASKS + 1];
byte rounds[TASKS + 1];
byte sleep[WORKERS];
byte searchers, sleepers; // idle_counts: one word, so both change in one step

bool destroyed;            // ghost
byte inside, left, ended;  // ghost: `left` counts rounds that are over, for the mutex
bool queued[TASKS + 1];    // ghost: in `ready` or `urgent`
bool running[TASKS + 1];   // ghost: on a worker
byte waking;               // ghost: those who have put something and not yet looked for sleepers
byte looking_again;        // ghost: those who have announced their sleep and not yet looked at the queues again
#define TOUCH ASSERT(M3, !destroyed)

#define SOMETHING_IS_READY (len(ready) > 0 || len(urgent) > 0)

// put_into, without its wake
inline put(queue, task) {
    atomic {
        ASSERT(W1, !queued[task] && !running[task]);
        queued[task] = true;
        waking++;
        queue!task
    }
}

// wake_one and notify. The putter's `i` is free to use.
inline wake_one() {
#ifdef MUTANT_NEVER_WAKES
    waking--;
#else
    if
    :: atomic { searchers > 0 || sleepers == 0 -> waking-- }
    :: atomic { searchers == 0 && sleepers > 0 -> i = 0 };
        do
        :: atomic { i < WORKERS && sleep[i] == SLEEPING -> sleep[i] = NOTIFIED }; // P3
#ifdef MUTANT_NOTIFIER_COUNTS
            atomic { sleepers--; searchers++ };
#endif
            break
#ifndef MUTANT_NOTIFIER_COUNTS
        :: i < WORKERS && sleep[i] == NOTIFIED -> break // it will search
#else
        :: atomic { i < WORKERS && sleep[i] == NOTIFIED -> i++ }
#endif
        :: atomic { i < WORKERS && sleep[i] == AWAKE -> i++ }
        :: i == WORKERS -> break
        od;
        atomic { i = 0; waking-- }
    fi
#endif
}

// The task's coroutine, from its start or from a resumption, until it suspends or ends. Leaves in `next` whom this
// worker runs after it, or 0.
inline resume(task) {
    atomic {
        ASSERT(W1, !running[task] && state[task] != WAITING);
        queued[task] = false;
        running[task] = true;
        if
        :: state[task] == CHOSEN -> owner = true
        :: else -> owner = false
        fi
    };
    do
    :: !owner && rounds[task] == ROUNDS ->
        atomic {
            running[task] = false;
            ended++;
            if
            :: left == TASKS * ROUNDS -> destroyed = true // nobody wants it any more
            :: else
            fi;
            next = 0
        };
        break
    :: !owner && rounds[task] < ROUNDS -> // lock: enter()
#ifdef MUTANT_LINKS_UNLOOKED
        if
        :: atomic { !held -> TOUCH; held = true; owner = true; state[task] = CHOSEN }
        :: atomic { held -> TOUCH; running[task] = false; state[task] = ARMING };
            atomic {
                TOUCH;
                state[task] = WAITING;
                linked[task] = true;
                waiters!task;
                next = 0
            };
            break
        fi
#else
        if
        :: atomic { !held -> TOUCH; held = true; owner = true; state[task] = CHOSEN }
        :: atomic {
               held -> TOUCH;
               running[task] = false;
               state[task] = WAITING;
               linked[task] = true;
               waiters!task;
               next = 0
           };
           break
        fi
#endif
    :: owner ->
        atomic { inside++; ASSERT(M1, inside == 1) };
        inside--;
        // unlock: choose_or_release()
        atomic {
            TOUCH;
            rounds[task]++;
            left++;
            owner = false;
            state[task] = ARMING;
            next = 0;
            do
            :: len(waiters) > 0 ->
                waiters?next;
                linked[next] = false;
                if
#ifdef MUTANT_CHOOSES_THE_CANCELLED
                :: true -> state[next] = CHOSEN; break
#else
                :: state[next] == WAITING -> state[next] = CHOSEN; break
                :: state[next] == CANCELLED -> next = 0
#endif
                fi
#ifdef MUTANT_FREES_WITH_WAITERS
            :: len(waiters) > 0 -> held = false; break
#endif
            :: len(waiters) == 0 -> held = false; break
            od
        };
#ifdef MUTANT_UNLOCK_LOOKS_AGAIN
        TOUCH;
#endif
        if
        :: next == 0
        :: atomic { next != 0 -> chain++; running[task] = false };
            // hand_over: this coroutine goes to the common queue, the next owner into the slot, or, at the end of a
            // chain, to a task that comes first
            if
            :: atomic { chain == CHAIN_MAX -> chain = 0 };
                put(urgent, next);
                wake_one();
                next = 0
            :: chain < CHAIN_MAX
            fi;
#ifndef MUTANT_UNLOCKER_IS_NOT_QUEUED
            put(ready, task);
#ifdef MUTANT_SLOT_IS_ALSO_QUEUED
            if
            :: next != 0 -> put(ready, next)
            :: else
            fi;
#endif
            wake_one();
#endif
            break
        fi
    :: !owner && state[task] == CANCELLED -> atomic { state[task] = ARMING; rounds[task]++; left++ }
    od
}

proctype Worker(byte me) {
    byte task, next, chain, i;
    bool owner, searching;

again:
    if
    :: atomic { urgent?task -> chain = (chain + 1) % CHAIN_MAX } // owners in a row are a chain, too
    :: atomic { ready?task -> chain = 0 }
    :: atomic { !SOMETHING_IS_READY && !searching -> searchers++; searching = true; chain = 0 }; goto again
    :: !SOMETHING_IS_READY && searching -> goto fall_asleep
    fi;
    if
    :: searching ->
        if
#ifdef MUTANT_LAST_SEARCHER_LOOKS_FIRST
        :: atomic { searchers == 1 && SOMETHING_IS_READY -> searchers--; searching = false; waking++ };
            wake_one()
        :: atomic { searchers == 1 && !SOMETHING_IS_READY };
            atomic { searchers--; searching = false }
#else
        :: atomic { searchers == 1 -> searchers--; searching = false; waking++ };
#ifdef MUTANT_LAST_SEARCHER_WAKES_NOBODY
            waking--
#else
            if // P2
            :: SOMETHING_IS_READY -> wake_one()
            :: atomic { !SOMETHING_IS_READY -> waking-- }
            fi
#endif
#endif
        :: atomic { searchers > 1 -> searchers--; searching = false }
        fi
    :: !searching
    fi;
    do
    :: resume(task);
        if
        :: atomic { next != 0 -> task = next; next = 0 }
        :: atomic { next == 0 -> task = 0; break }
        fi
    od;
    goto again;

fall_asleep:
#ifdef MUTANT_LOOKS_BEFORE_IT_ANNOUNCES
    if
    :: SOMETHING_IS_READY -> goto again
    :: !SOMETHING_IS_READY
    fi;
    sleep[me] = SLEEPING;
    atomic { sleepers++; searchers-- };
#else
    atomic { sleep[me] = SLEEPING; looking_again++ };
    atomic { sleepers++; searchers-- };
    if
#ifndef MUTANT_DOES_NOT_LOOK_AGAIN
    :: SOMETHING_IS_READY ->
        if
        :: atomic { sleep[me] == SLEEPING -> sleep[me] = AWAKE };
            atomic { sleepers--; searchers++; looking_again-- };
            goto again
        :: atomic { sleep[me] == NOTIFIED -> looking_again-- }
        fi
    :: atomic { !SOMETHING_IS_READY -> looking_again-- }
#else
    :: looking_again--
#endif
    fi;
#endif
    if
#ifdef MUTANT_NOTIFIER_COUNTS
    :: sleep[me] == NOTIFIED ->
#else
    :: atomic { sleep[me] == NOTIFIED -> sleepers--; searchers++ };
#endif
        sleep[me] = AWAKE;
        goto again
    :: ended == TASKS
    fi
}

// limited_waiter::reached and withdraw, for task 1
proctype Limit() {
    byte i, other, turns;
    do
    :: atomic { state[1] == WAITING -> state[1] = CANCELLED }; // the compare-and-swap
#ifdef MUTANT_CANCELS_WITHOUT_LOOKING
    :: atomic { state[1] == CHOSEN && !running[1] && !queued[1] -> state[1] = CANCELLED };
#endif
        atomic { // under the guard
            TOUCH;
            if
            :: linked[1] ->
#ifndef MUTANT_STAYS_LINKED
#if TASKS > 2
                turns = len(waiters);
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
#else
                waiters?other;
#endif
                other = 0;
                linked[1] = false
#else
                skip
#endif
            :: !linked[1]
            fi
        };
        put(ready, 1);
        wake_one()
    :: ended == TASKS -> break
    od
}

init {
    byte i, task;
    atomic {
        i = 0;
        do
        :: i < WORKERS -> run Worker(i); i++
        :: i == WORKERS -> break
        od;
        i = 0;
        run Limit()
    };
    task = 1;
    do
    :: task <= TASKS ->
        put(ready, task); // from outside
        wake_one();
        task++
    :: task > TASKS -> break
    od
}

// P1, at every moment.
#define SLEEPS(w) (sleep[w] == SLEEPING)
#define WAS_NOTIFIED(w) (sleep[w] == NOTIFIED)
#if WORKERS == 2
#define ANY(is) (is(0) || is(1))
#else
#define ANY(is) (is(0) || is(1) || is(2))
#endif
active proctype Watch() {
    if
    :: atomic {
           SOMETHING_IS_READY && ANY(SLEEPS) && !ANY(WAS_NOTIFIED) &&
           searchers == 0 && waking == 0 && looking_again == 0 -> ASSERT(P1, false)
       }
    :: ended == TASKS
    fi
}
