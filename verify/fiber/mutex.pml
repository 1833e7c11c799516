// SPDX-License-Identifier: MIT OR Apache-2.0
// The mutex for Boost.Fiber under CES: hand-overs on a thread, fibers that are still on their stack when they are
// chosen, chains that end, a waiter whose time is over, and a thread without the algorithm.
// C++ code: fiber/include/holdfast/fibers/detail/owned_lock.hpp (M1 to M3), waiter.hpp (W1 to W3), wait.hpp (C2),
// group.hpp (G1).
//
// One step is one atomic instruction, or what is done under a guard. Threads 0 and 1 run the group's algorithm, whose
// queue is `ready`; Boost wakes nobody for what is put there, so a thread that sleeps is woken by group::bring()
// alone, or when its own timed fiber is woken. Thread 2 runs no algorithm: it has one fiber, the last. Each fiber
// locks ROUNDS times. Fiber 1 waits with a deadline, and stays with its thread meanwhile. The one that ends last
// destroys the mutex.
//
// M1  Exclusion.
// M3  Nobody touches the mutex after it was destroyed.
// W1  A fiber runs on one thread at a time, and is resumed only when it is off its stack.
// W3  A fiber that another thread may resume is on no scheduler's list.
// C2  At the end of a chain its thread takes one of the others, if there is one.
// And no deadlock: all fibers end.
#ifndef FIBERS
#define FIBERS 4
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define CHAIN_MAX 2
#define FOREIGN FIBERS
#define TIMED 1
#define GROUP 2 // threads

bit M1, M3, W1, W3, C2;
#define ASSERT(invariant, condition) assert(invariant || (condition))

mtype = { ARMING, SWITCHING, SUSPENDED, CHOSEN, CANCELLED };

chan ready = [FIBERS] of { byte };
chan brought = [FIBERS] of { byte };
chan waiters = [FIBERS] of { byte };
byte owner;
mtype state[FIBERS + 1];
bool granted[FIBERS + 1];
bool woken[FIBERS + 1]; // attached and timed: its parker, or its scheduler, was told
byte rounds[FIBERS + 1];
bool sleeping[GROUP];
bool told[GROUP]; // the algorithm's notify(), which is kept until it is looked at

bool began;
byte timed_on; // the thread with which the timed fiber waits
bool destroyed;           // ghost
byte inside, ended;       // ghost
bool on_stack[FIBERS + 1]; // ghost: some thread runs it, or has not switched away from it
bool on_list[FIBERS + 1];  // ghost: a scheduler has it among its fibers
#define TOUCH ASSERT(M3, !destroyed)
#define STEALABLE(fiber) (fiber != TIMED && fiber != FOREIGN)
#define OWNED (owner != 0)

inline make_ready(fiber) {
    atomic { ASSERT(W1, !on_stack[fiber]); ready!fiber }
}

// group::bring(): a fiber that brings looks for a sleeper after it.
inline bring(fiber) {
    atomic { ASSERT(W1, !on_stack[fiber]); ASSERT(W3, !on_list[fiber]); brought!fiber };
#ifndef MUTANT_BRINGS_IN_SILENCE
    if
    :: atomic { sleeping[0] -> sleeping[0] = false; told[0] = true }
    :: atomic { !sleeping[0] && sleeping[1] -> sleeping[1] = false; told[1] = true }
    :: !sleeping[0] && !sleeping[1]
    fi
#endif
}

// to_be_resumed(). Leaves in `mine` whether the caller must resume it.
inline to_be_resumed(fiber) {
    if
    :: !STEALABLE(fiber) -> mine = true // its `off`: in resume_attached()
    :: else ->
        if
        :: atomic { state[fiber] == SUSPENDED -> mine = true }
#ifdef MUTANT_RESUMES_WHILE_IT_SWITCHES
        :: atomic { state[fiber] == SWITCHING -> mine = true }
#else
        :: atomic { state[fiber] == SWITCHING -> state[fiber] = CHOSEN; mine = false }
#endif
        fi
    fi
}

// Attached and timed ones: through what they wait on, which keeps the news.
inline resume_attached(fiber) {
    atomic {
        woken[fiber] = true;
        if
        :: fiber == TIMED -> told[timed_on] = true
        :: else
        fi
    }
}

// lock(), until it has the mutex or waits. Leaves in `waits` whether it does.
inline lock(fiber) {
    if
    :: atomic { !OWNED -> TOUCH; owner = fiber; waits = false }
    :: atomic {
           OWNED -> TOUCH;
           granted[fiber] = false;
           woken[fiber] = false;
#ifdef MUTANT_LINKED_AS_SUSPENDED
           state[fiber] = (fiber == TIMED -> ARMING : SUSPENDED);
#else
           state[fiber] = (fiber == TIMED -> ARMING : SWITCHING);
#endif
           waiters!fiber;
           waits = true
       }
    fi
}

inline section(fiber) {
    atomic { inside++; ASSERT(M1, inside == 1) };
    atomic { inside--; rounds[fiber]++ }
}

// release(), in one atomic step: leaves in `next` the first waiter that has not given up.
inline choose(fiber) {
    TOUCH;
    ASSERT(M1, owner == fiber);
    next = 0;
    do
    :: len(waiters) > 0 && next == 0 ->
        waiters?next;
        if
        :: next == TIMED && state[TIMED] == CANCELLED -> next = 0
        :: next == TIMED && state[TIMED] == ARMING -> state[TIMED] = CHOSEN
        :: else
        fi
    :: else -> break
    od
}

// By a thread of the group: leaves in `grants` whether `next` is the owner.
inline release(fiber) {
    atomic {
        choose(fiber);
        if
        :: next != 0 && STEALABLE(next) -> owner = next; granted[next] = true; grants = true
        :: else -> owner = 0; grants = false
        fi
#ifdef MUTANT_GRANTS_AND_FREES
        ; owner = 0
#endif
    }
}

inline end(fiber) {
    atomic {
        ended++;
        on_stack[fiber] = false;
        on_list[fiber] = false;
        if
        :: ended == FIBERS -> destroyed = true; told[0] = true; told[1] = true
        :: else
        fi
    }
}

// A thread of the group. `current`: the fiber that it runs, 0 for its scheduler.
active [GROUP] proctype thread() {
    byte current = 0, next = 0, chain = 0, other = 0;
    bool waits = false, mine = false, grants = false, has = false, others_first = false, timed_waits = false;
    bool chain_ended = false; // ghost
    byte own = _pid;

    began;
    do
    :: current == 0 && ended == FIBERS -> break
    :: current == 0 && ended < FIBERS -> // pick()
        atomic { chain = 0; other = 0 };
        if
        :: atomic {
               !others_first && len(brought) > 0 ->
               ASSERT(C2, !chain_ended || len(ready) == 0);
               brought?current; others_first = true; chain_ended = false
           }
        :: atomic {
               (others_first || len(brought) == 0) && len(ready) > 0 ->
               ready?current; others_first = false; chain_ended = false
           }
        :: atomic { others_first && len(ready) == 0 -> others_first = false }
        :: atomic { timed_waits && woken[TIMED] -> timed_waits = false; current = TIMED }
        :: atomic { // the deadline
               timed_waits && !woken[TIMED] && state[TIMED] == ARMING ->
               state[TIMED] = CANCELLED; timed_waits = false; current = TIMED
           }
        :: atomic { // suspend_until()
               !others_first && len(brought) == 0 && len(ready) == 0 && !(timed_waits && woken[TIMED]) ->
#ifdef MUTANT_LOOKS_BEFORE_IT_SLEEPS
               skip
#else
               sleeping[own] = true
#endif
           };
#ifdef MUTANT_LOOKS_BEFORE_IT_SLEEPS
           sleeping[own] = true;
#else
           if
           :: len(brought) > 0 -> goto awake
           :: else
           fi;
#endif
           // A deadline ends the sleep, too. What lies in `ready` was put there by a thread that goes on.
           told[own] || (timed_waits) || ended == FIBERS;
awake:     atomic { sleeping[own] = false; told[own] = false }
        fi;
        if
        :: current == 0
        :: current != 0 ->
            atomic {
                ASSERT(W1, !on_stack[current]);
                on_stack[current] = true;
                on_list[current] = true;
                has = granted[current];
                granted[current] = false
            };
            if
            :: atomic { // withdraw()
                   current == TIMED && state[TIMED] == CANCELLED ->
                   TOUCH; rounds[TIMED]++; state[TIMED] = CHOSEN;
#ifndef MUTANT_STAYS_LINKED
                   if
                   :: waiters??[TIMED] -> waiters??TIMED
                   :: else
                   fi
#endif
               }
#ifdef MUTANT_WOKEN_GIVES_UP
            :: atomic { current == TIMED && woken[TIMED] -> woken[TIMED] = false; rounds[TIMED]++ }
            :: !(current == TIMED && (state[TIMED] == CANCELLED || woken[TIMED]))
#else
            :: !(current == TIMED && state[TIMED] == CANCELLED)
#endif
            fi
        fi
    :: current != 0 && !has && rounds[current] == ROUNDS -> end(current); current = 0
    :: current != 0 && !has && rounds[current] < ROUNDS ->
        lock(current);
        if
        :: !waits -> has = true
        :: waits && current == TIMED ->
            atomic { on_stack[current] = false; timed_waits = true; timed_on = own; current = 0 }
        :: waits && current != TIMED ->
            // yield(): the switch, then awakened() on the stack of a fiber that runs next. Here the scheduler does.
            atomic {
                other = current;
                current = 0;
                on_stack[other] = false;
#ifndef MUTANT_DETACHED_LATE
                on_list[other] = false
#endif
            };
            if
#ifdef MUTANT_DETACHED_LATE
            :: atomic { state[other] == SWITCHING -> state[other] = SUSPENDED }; on_list[other] = false
#else
            :: atomic { state[other] == SWITCHING -> state[other] = SUSPENDED }
#endif
            :: atomic { state[other] == CHOSEN ->
#ifdef MUTANT_CHOSEN_IS_FORGOTTEN
                   skip }
#else
                   on_list[other] = false; ready!other }
#endif
            :: state[other] != SWITCHING && state[other] != CHOSEN
            fi;
            other = 0
        fi
    :: current != 0 && has ->
        section(current);
        release(current);
        has = false;
        if
        :: next == 0
        :: next != 0 && !grants -> resume_attached(next) // not a stealable one
        :: next != 0 && grants ->
            to_be_resumed(next);
            if
            :: !mine
            :: mine && chain + 1 >= CHAIN_MAX -> // end_chain()
                atomic { chain = 0; chain_ended = true };
#ifdef MUTANT_OTHERS_FIRST_IS_FORGOTTEN
                skip;
#else
                others_first = true;
#endif
                bring(next);
                atomic { other = current; current = 0; on_stack[other] = false };
                atomic { on_list[other] = false; ready!other };
                other = 0
            :: mine && chain + 1 < CHAIN_MAX -> // exchange()
                chain++;
#ifdef MUTANT_UNLOCKER_IS_READY_FIRST
                atomic { on_list[current] = false; ready!current };
                atomic { on_stack[current] = false };
#endif
                atomic {
                    ASSERT(W1, !on_stack[next]);
                    ASSERT(W3, !on_list[next]);
                    other = current;
                    on_stack[other] = false;
                    current = next;
                    on_stack[current] = true;
                    on_list[current] = true;
                    has = granted[current];
                    granted[current] = false
                };
#ifndef MUTANT_UNLOCKER_IS_READY_FIRST
                atomic { on_list[other] = false; ready!other };
#endif
                other = 0
            fi
        fi;
        next = 0
    od
}

// A thread that runs no algorithm of ours, and one fiber.
active proctype foreign() {
    byte next = 0;
    bool waits = false, mine = false;

    on_stack[FOREIGN] = true;
    do
    :: rounds[FOREIGN] == ROUNDS -> break
    :: rounds[FOREIGN] < ROUNDS ->
        lock(FOREIGN);
        if
        :: waits -> atomic { woken[FOREIGN] -> woken[FOREIGN] = false } // and tries again
        :: !waits ->
            section(FOREIGN);
            atomic { choose(FOREIGN); owner = 0 };
            if
            :: next == 0
            :: next != 0 && !STEALABLE(next) -> resume_attached(next)
            :: next != 0 && STEALABLE(next) ->
                to_be_resumed(next);
                if
                :: mine -> bring(next)
                :: !mine
                fi
            fi;
            next = 0
        fi
    od;
    end(FOREIGN)
}

init {
    byte i;
    atomic {
        for (i : 1 .. FIBERS - 1) {
            ready!i
        }
        began = true
    }
}
