// SPDX-License-Identifier: MIT OR Apache-2.0
// The end of a pool: coroutines are still spawned from outside, workers run or sleep, locks are handed over, limits are
// reached; then what is left is destroyed.
// C++ code: coro/src/pool.cpp (join, shutdown, put, await_next, work), worker_sleep.hpp, root_list.hpp, run_context.cpp
// (run), timer_queue.cpp (close, cancel), coro/include/holdfast/coro/spawn.hpp (start, final_suspend, destroy),
// waited_on.hpp (abandon, withdraw), shared_mutex.hpp, policy.hpp (exchange).
//
// One step is one atomic instruction, or what is done under a guard. Two tasks are spawned, a third from outside, and
// waited for as by sync_wait; meanwhile the pool may be shut down at any time. Each takes a reader-writer mutex, task
// 2 to write and within a limit, which a timer of the pool may reach at any time; the others to read. Inside each may
// wait for something else, and is then ready again. It leaves by a co_await, which hands over, or by its guard's
// destructor. There is no order among the pool's queues. Batches are left out, and threads outside that unlock or let
// go while the pool ends, which is not allowed (docs/coroutines-checks.md).
//
// E1  Each task ends, by itself or with the pool, and a task that waits for that is told once.
// E2  A frame is destroyed once, not while it runs, and not touched after it.
// E3  When shutdown() has returned no worker runs.
// E4  In the end the lock is free, nobody is in its list, and no root in the pool's.
// W1  A coroutine is queued once, and not while it runs.
// And no deadlock: all workers end, shutdown() and all spawners return.
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TASKS
#define TASKS 3
#endif
#define WRITER 2
#define CHAIN_MAX 2

bit E1, E2, E3, E4, W1;
#define ASSERT(invariant, condition) assert(invariant || (condition))

// Of a wait.
#define ARMING 0
#define WAITING 1
#define CHOSEN 2
#define CANCELLED 3
// Where a task goes on when it is resumed.
#define ENTERS 0
#define RESUMED 1
#define INSIDE 2
#define OUT 3
// Of a worker.
#define AWAKE 0
#define SLEEPING 1
#define NOTIFIED 2

chan ready = [TASKS] of { byte };   // common_, ready and stolen
chan urgent = [TASKS] of { byte };  // owners
chan waiters = [TASKS] of { byte }; // the mutex's list
byte readers;
bool written;
byte state[TASKS + 1];
bool linked[TASKS + 1];
byte at[TASKS + 1];
bool armed, reaching, timers_closed; // the limit of the writer; it is being reached

bool stopping;
byte sleep[WORKERS];
byte searchers, sleepers;
bool exited[WORKERS];
bool adopted[TASKS + 1]; // in the pool's list of roots
bool closed;             // that list

bool frame[TASKS + 1];   // ghost: it is there
bool told[TASKS + 1];    // ghost
bool queued[TASKS + 1];  // ghost
bool running[TASKS + 1]; // ghost: on a worker
bool all_told;           // ghost: all spawners have returned

#define SOMETHING_IS_READY (len(ready) > 0 || len(urgent) > 0)
#define TOUCH(one) ASSERT(E2, frame[one])

// wake_one and notify, in one step: more finely in mutex.pml. The putter's `i` is free to use.
inline wake_one() {
    atomic {
        i = 0;
        do
        :: searchers > 0 || i == WORKERS -> break
        :: searchers == 0 && i < WORKERS && sleep[i] == SLEEPING -> sleep[i] = NOTIFIED; break // P3
        :: searchers == 0 && i < WORKERS && sleep[i] == NOTIFIED -> break
        :: searchers == 0 && i < WORKERS && sleep[i] == AWAKE -> i++
        od;
        i = 0
    }
}

// state::put, put_common, put_urgent: after the end they do nothing.
inline put(queue, one) {
    if
    :: stopping
    :: !stopping ->
        atomic {
            ASSERT(W1, !queued[one] && !running[one]);
            queued[one] = true;
            queue!one
        };
        wake_one()
    fi
}

// destroy() of spawn.hpp, after what the frame's own destructors have done.
inline destroy(one) {
    atomic {
        ASSERT(E2, frame[one] && !running[one]);
        frame[one] = false
    };
    atomic { ASSERT(E1, !told[one]); told[one] = true }
}

#define MAY_ENTER(one) (!written && (one != WRITER || readers == 0))

inline count(one) {
    readers = readers + (one != WRITER);
    written = written || (one == WRITER)
}

// basic_shared_mutex::admit, under the guard: into `chosen`.
inline admit() {
    do
    :: len(waiters) > 0 ->
        waiters?<first>;
        TOUCH(first);
        if
        :: !MAY_ENTER(first) -> break
        :: MAY_ENTER(first) ->
            waiters?first;
            linked[first] = false;
            if
            :: state[first] == WAITING -> state[first] = CHOSEN; count(first); chosen!first
            :: state[first] == CANCELLED
            fi
        fi
    :: len(waiters) == 0 -> break
    od;
    first = 0
}

inline leave(one) {
    atomic {
        readers = readers - (one != WRITER);
        written = written && (one != WRITER);
        admit()
    }
}

// A waiter's handle and executor are read in its frame.
inline schedule_owners() {
    do
    :: len(chosen) > 0 ->
        chosen?first;
        TOUCH(first);
        put(urgent, first);
        first = 0
    :: len(chosen) == 0 -> break
    od
}

// wait_list::unlink. There are three waiters at most.
inline unlink(one) {
    turns = (linked[one] -> len(waiters) : 0);
    linked[one] = false;
    do
    :: turns > 0 ->
        waiters?other;
        if
        :: other != one -> waiters!other
        :: other == one
        fi;
        turns--
    :: turns == 0 -> break
    od;
    other = 0
}

// timer_queue::cancel: waits for a task that is at it.
inline disarm(one) {
    if
    :: atomic { one == WRITER && !reaching -> armed = false }
    :: one != WRITER
    fi
}

// The task's coroutine, from its start or from a resumption, until it suspends or ends. Leaves in `next` whom this
// worker runs after it, or 0.
inline resume() {
    atomic {
        TOUCH(task);
        ASSERT(W1, !running[task]);
        queued[task] = false;
        running[task] = true
    };
    do
    :: at[task] == ENTERS ->
        if
        :: atomic { len(waiters) == 0 && MAY_ENTER(task) -> count(task); at[task] = INSIDE }
        :: atomic {
               len(waiters) > 0 || !MAY_ENTER(task) ->
               armed = (armed || task == WRITER);
               state[task] = WAITING;
               linked[task] = true;
               waiters!task;
               at[task] = RESUMED;
               running[task] = false
           };
            break
        fi
    :: at[task] == RESUMED ->
        disarm(task);
        at[task] = (state[task] == CHOSEN -> INSIDE : OUT);
        state[task] = ARMING
    :: at[task] == INSIDE ->
        if
        :: atomic { running[task] = false };
            put(ready, task); // it waits for something else, inside
            break
        :: true ->
            at[task] = OUT;
            leave(task);
            if
            :: len(chosen) == 0
            :: len(chosen) > 0 -> schedule_owners() // its guard's destructor
            :: len(chosen) > 0 -> // hand_over_first
                chosen?next;
                schedule_owners();
                TOUCH(next);
                running[task] = false;
                if
                :: atomic { chain + 1 >= CHAIN_MAX -> chain = 0 };
                    put(urgent, next);
                    next = 0
                :: atomic { chain + 1 < CHAIN_MAX -> chain++ } // into the slot
                fi;
                put(ready, task);
                break
            fi
        fi
    :: at[task] == OUT -> // final_suspend
#ifndef MUTANT_END_IS_NOT_SAID
        adopted[task] = false;
#endif
        running[task] = false;
        destroy(task);
        break
    od
}

proctype Worker(byte me) {
    chan chosen = [TASKS] of { byte };
    byte task, next, chain, first, i;
    bool searching;

again: // await_next
    if
    :: atomic { urgent?task -> chain = (chain + 1) % CHAIN_MAX }
    :: atomic { ready?task -> chain = 0 }
    :: atomic { !SOMETHING_IS_READY && !searching -> searchers++; searching = true; chain = 0 }; goto look
    :: !SOMETHING_IS_READY && searching -> goto fall_asleep
    fi;
    if
    :: searching -> // P2
        if
        :: atomic { searchers == 1 -> searchers--; searching = false };
            if
            :: SOMETHING_IS_READY -> wake_one()
            :: !SOMETHING_IS_READY
            fi
#if WORKERS > 1
        :: atomic { searchers > 1 -> searchers--; searching = false }
#endif
        fi
    :: stopping && !searching -> goto over // what it has found is destroyed with its root
    :: !stopping && !searching
    fi;
    do // run()
    :: resume();
        if
        :: atomic { next == 0 -> task = 0; break }
        :: atomic { next != 0 && !stopping -> task = next; next = 0 }
        :: atomic { next != 0 && stopping -> task = 0; next = 0; break } // as above
        fi
    od;
    goto again;

look:
    if
    :: stopping -> goto over
    :: !stopping -> goto again
    fi;

fall_asleep:
    sleep[me] = SLEEPING;
    atomic { sleepers++; searchers-- };
    if
#ifdef MUTANT_SLEEPER_DOES_NOT_LOOK_FOR_THE_END
    :: SOMETHING_IS_READY ->
#else
    :: SOMETHING_IS_READY || stopping ->
#endif
        if
        :: atomic { sleep[me] == SLEEPING -> sleep[me] = AWAKE };
            atomic { sleepers--; searchers++ };
            goto look
        :: sleep[me] == NOTIFIED
        fi
#ifdef MUTANT_SLEEPER_DOES_NOT_LOOK_FOR_THE_END
    :: !SOMETHING_IS_READY
#else
    :: !SOMETHING_IS_READY && !stopping
#endif
    fi;
    atomic { sleep[me] == NOTIFIED -> sleepers--; searchers++ };
    sleep[me] = AWAKE;
    goto look;

over:
    atomic { searchers = searchers - searching; exited[me] = true }
}

// limited_waiter::reached and withdraw, on the pool's thread for timers, under its lock.
proctype Timer() {
    chan chosen = [TASKS] of { byte };
    byte first, other, turns, i;

    do
    :: atomic {
           armed && !timers_closed && state[WRITER] == WAITING ->
           TOUCH(WRITER);
           state[WRITER] = CANCELLED;
           reaching = true
       };
        atomic { TOUCH(WRITER); unlink(WRITER) };
        atomic { admit() }; // someone_left()
        schedule_owners();
        TOUCH(WRITER);
        put(ready, WRITER);
        atomic { reaching = false; armed = false }
    :: timers_closed -> break
    od
}

// spawn() and sync_wait(), in one thread: it spawns the last task, then it waits for all.
proctype Outside() {
    byte i, one = TASKS;
    bool mine;

    do
    :: one <= TASKS ->
        frame[one] = true;
#ifdef MUTANT_SCHEDULES_FIRST
        put(ready, one);
#endif
        atomic { // adopt()
            TOUCH(one);
#ifdef MUTANT_ADOPTS_AFTER_THE_END
            mine = true;
#else
            mine = !closed;
#endif
            adopted[one] = mine
        };
        if
#ifdef MUTANT_SCHEDULES_FIRST
        :: mine
#else
        :: mine -> put(ready, one)
#endif
        :: !mine -> destroy(one)
        fi;
        one++
    :: one > TASKS -> break
    od;
    told[1] && told[2] && told[TASKS];
    all_told = true
}

// schedule_owners() after the end: put() does nothing.
inline schedule_nobody() {
    do
    :: len(chosen) > 0 -> chosen?first; TOUCH(first); first = 0
    :: len(chosen) == 0 -> break
    od
}

// The frame's destructors: of the awaiter (abandon) or of the guard of the lock.
inline destroy_what_it_holds(one) {
    if
    :: at[one] == RESUMED ->
        disarm(one);
        atomic {
            was_linked = linked[one];
#ifndef MUTANT_ABANDONED_STAYS_LINKED
            unlink(one)
#endif
        };
        if
        :: was_linked -> atomic { admit() }; schedule_nobody() // someone_left()
#ifndef MUTANT_ABANDONED_KEEPS_ITS_PART
        :: !was_linked && state[one] == CHOSEN ->
            leave(one); // give_back()
            schedule_nobody()
#else
        :: !was_linked && state[one] == CHOSEN
#endif
        :: !was_linked && state[one] == CANCELLED
        fi;
        was_linked = false
    :: at[one] == INSIDE -> leave(one); schedule_nobody()
    :: at[one] == ENTERS || at[one] == OUT
    fi
}

// pool::shutdown
proctype Ender() {
    chan chosen = [TASKS] of { byte };
    byte first, other, turns, i, one;
    bool was_linked;

#ifndef MUTANT_WAKES_BEFORE_IT_SAYS_SO
    stopping = true;
#endif
    one = 0;
    do
    :: one < WORKERS ->
#ifdef MUTANT_WAKES_NOBODY
        skip;
#else
        if // notify()
        :: atomic { sleep[one] == SLEEPING -> sleep[one] = NOTIFIED }
        :: sleep[one] != SLEEPING
        fi;
#endif
#ifdef MUTANT_WAKES_BEFORE_IT_SAYS_SO
        stopping = true;
#endif
#ifndef MUTANT_DOES_NOT_WAIT_FOR_WORKERS
        exited[one]; // join
#endif
        one++
    :: one == WORKERS -> break
    od;
#ifndef MUTANT_TIMERS_GO_ON
    atomic { !reaching -> timers_closed = true };
#endif
    do // destroy_all
    :: atomic {
           closed = true; // take()
           if
           :: adopted[1] -> one = 1
           :: adopted[2] -> one = 2
           :: TASKS > 2 && adopted[TASKS] -> one = TASKS
           :: else -> one = 0
           fi;
           adopted[one] = false
       };
        if
        :: one == 0 -> break
        :: one != 0
        fi;
        destroy_what_it_holds(one);
        destroy(one)
    od;
#ifdef MUTANT_TIMERS_GO_ON
    atomic { !reaching -> timers_closed = true };
#endif
    ASSERT(E3, exited[0] && exited[WORKERS - 1]);
    all_told;
    ASSERT(E4, readers == 0 && !written && len(waiters) == 0 && !adopted[1] && !adopted[2] && !adopted[TASKS])
}

init {
    byte i;
    atomic {
        do
        :: i + 1 < TASKS -> i++; frame[i] = true; adopted[i] = true; queued[i] = true; ready!i
        :: i + 1 == TASKS -> break
        od;
        i = 0;
        do
        :: i < WORKERS -> run Worker(i); i++
        :: i == WORKERS -> break
        od;
        run Timer();
        run Outside();
        run Ender()
    }
}
