// SPDX-License-Identifier: MIT OR Apache-2.0
// How long who is ready for a worker may have to wait behind tasks that never stop: the end of turns, the end of chains
// of hand-overs, and the order in which a worker takes from its queues.
// C++ code: coro/src/ready_work.hpp (find, take_common, waiting), coro/include/holdfast/coro/detail/turn.hpp,
// policy.hpp (exchange, end_chain).
//
// One worker; all others only put. Whatever runs does as it likes at each step: it finds its lock free and goes on,
// hands its thread to the next owner, is suspended, or schedules another. Others put owners, tasks that had their turns
// and tasks that had not, whenever there is room. One task is watched: at some time it is put into the worker's queue
// or into the common one, behind as many as fit. Time is counted in sections; a turn is over after TURN of them if
// guests are there, after TURN_MAX else. A task that finds no room in a queue of the model goes elsewhere.
//
// ALONE: there is no other worker, and a task that hands its thread over is deferred (policy.hpp) until the next owner
// is suspended, then goes on in a turn of its own.
//
// With WATCHED_OWNS it is put into the queue of owners, and nobody hands over: each end of a chain leaves another lock
// to a queued owner, so there are no more of them than locks before it runs; the model has no number of locks.
//
// T1  The watched task runs before BOUND sections of others have run on this worker.
// T2  What runs here goes on without a pause when nobody else is ready.
#define PLACES 2 // of each queue
#ifndef CHAIN_MAX
#define CHAIN_MAX 2
#endif
#define COMMON_FIRST_EVERY 2
#define TURN 1
#define TURN_MAX 2
// Before the watched task come its queue's others and, if it gets into the other queue in a batch, those of that one.
// Each queue comes first once in COMMON_FIRST_EVERY takes that are not of owners; with owners before it a take brings
// CHAIN_MAX turns, but two at least, and hand-overs; where those are deferred who handed over, each brings one more.
#ifdef ALONE
#define TURNS_OF_A_HAND_OVER 2
#else
#define TURNS_OF_A_HAND_OVER 1
#endif
#define TURNS ((CHAIN_MAX > 2 -> CHAIN_MAX : 2) * TURNS_OF_A_HAND_OVER) // of one take
#define BOUND (2 * PLACES * COMMON_FIRST_EVERY * TURNS * (TURN_MAX + 1))

bit T1, T2;
#define ASSERT(invariant, condition) assert(invariant || (condition))

#define GUEST 1
#define ROTATED 2
#define WATCHED 3
#define OWNER 4 // of a lock

chan own = [PLACES] of { byte };
chan common = [PLACES] of { byte };
chan urgent = [PLACES] of { byte };
byte guests;       // in `own` and `common`
byte watched_kind; // GUEST or ROTATED
byte chain, taken; // `taken` modulo COMMON_FIRST_EVERY
bool others_first;
bool arrived;            // ghost: the watched task is ready
bool done;               // ghost: it has run
byte sections;           // ghost: of others, between the two
bool stopped_for_nobody; // ghost

#define IS_GUEST(kind) (kind == GUEST || (kind == WATCHED && watched_kind == GUEST))
#ifdef MUTANT_ROTATED_ARE_NOBODY
#define ROTATED_ARE_THERE false
#else
#define ROTATED_ARE_THERE (len(own) > 0 || len(common) > 0)
#endif
#define GUESTS_ARE_THERE (guests > 0 || len(urgent) > 0)

inline put(queue, kind) {
    if
    :: nfull(queue) -> queue!kind; guests = guests + IS_GUEST(kind)
    :: full(queue) // it goes elsewhere
    fi
}

inline take(queue) {
    queue?task;
    guests = guests - IS_GUEST(task)
}

inline take_common() {
    take(common);
    if
    :: len(common) > 0 && nfull(own) -> common?second; own!second; second = 0 // a batch
    :: skip
    fi
}

inline find() {
    atomic {
        bool last = others_first;
#ifndef MUTANT_OWNERS_IN_A_ROW
#ifdef MUTANT_CHAIN_OF_ONE_IS_FULL
        last = last || chain + 1 >= CHAIN_MAX;
#else
        last = last || (chain > 0 && chain + 1 >= CHAIN_MAX);
#endif
#endif
        others_first = false;
#ifdef MUTANT_COUNTS_OWNERS
        taken = (taken + 1) % COMMON_FIRST_EVERY;
#endif
        if
        :: !last && len(urgent) > 0 ->
            urgent?task;
#ifndef MUTANT_OWNERS_IN_A_ROW
            chain++
#endif
        :: else ->
            chain = 0;
#ifndef MUTANT_COUNTS_OWNERS
            taken = (taken + 1) % COMMON_FIRST_EVERY;
#endif
            if
#ifndef MUTANT_COMMON_IS_LAST
            :: taken == 0 && len(common) > 0 -> take_common()
            :: (taken != 0 || len(common) == 0) && len(own) > 0 -> take(own)
            :: taken != 0 && len(own) == 0 && len(common) > 0 -> take_common()
#else
            :: len(own) > 0 -> take(own)
            :: len(own) == 0 && len(common) > 0 -> take_common()
#endif
            :: len(own) == 0 && len(common) == 0 && len(urgent) > 0 -> urgent?task
            :: len(own) == 0 && len(common) == 0 && len(urgent) == 0 // it searches
            fi
        fi
    }
}

inline count_section() {
    sections = sections + (arrived && !done);
    ASSERT(T1, done || sections < BOUND)
}

// turn::ends(), after a section whose lock nobody waited for
inline end_turn_if_over() {
    operations = (operations < TURN_MAX -> operations + 1 : operations);
    if
#ifndef MUTANT_TURNS_DO_NOT_END
    :: operations >= TURN && GUESTS_ARE_THERE -> over = true
    :: operations >= TURN_MAX && !GUESTS_ARE_THERE && ROTATED_ARE_THERE -> over = true
#endif
#ifdef MUTANT_TURNS_END_FOR_NOBODY
    :: operations >= TURN_MAX && !GUESTS_ARE_THERE && !ROTATED_ARE_THERE -> over = true; stopped_for_nobody = true
#endif
    :: else
    fi;
    if
    :: over -> put(common, ROTATED)
    :: else
    fi;
    ASSERT(T2, !stopped_for_nobody)
}

#ifdef MUTANT_DEFERRED_BEGIN_CHAINS
#define CHAIN_ENDS (chain >= CHAIN_MAX)
#else
#define CHAIN_ENDS (others_first || chain >= CHAIN_MAX)
#endif

// exchange(): the next owner gets this thread, in the same turn, or the chain is at its end.
inline hand_over() {
    chain = (chain < CHAIN_MAX -> chain + 1 : chain);
    if
#ifndef MUTANT_CHAINS_DO_NOT_END
    :: CHAIN_ENDS ->
        chain = 0;
#ifndef MUTANT_NEXT_OWNER_IS_TAKEN_BACK
        others_first = true;
#endif
        put(common, ROTATED); // the caller
        if
        :: nfull(urgent) -> urgent!OWNER
        :: full(urgent)
        fi;
        over = true
#else
    :: CHAIN_ENDS -> chain = 0; put(common, ROTATED)
#endif
#if CHAIN_MAX == 1
    :: else
#elif defined(ALONE)
    :: else -> deferred++
#else
    :: else -> put(common, ROTATED)
#endif
    fi
}

inline run_task() {
    over = false;
    operations = 0;
    do
#ifdef ALONE
    :: atomic { over && deferred > 0 -> deferred--; over = false; operations = 0 }
    :: atomic { !over && deferred > 0 -> deferred-- } // it waits for something; the turn goes on
    :: over && deferred == 0 -> break
    :: !over && deferred == 0 -> break
#else
    :: over -> break
    :: !over -> break // it waits for something
#endif
    :: atomic { !over -> count_section(); end_turn_if_over() }
#ifndef WATCHED_OWNS
    :: atomic { !over -> count_section(); hand_over() }
#endif
    :: atomic { !over && nfull(own) -> put(own, GUEST) }
#ifndef WATCHED_OWNS
    :: atomic { !over && !arrived && nfull(own) -> arrived = true; put(own, WATCHED) }
#endif
    od
}

proctype Worker() {
    byte task, second, operations, deferred;
    bool over;

    do
    :: !done ->
        find();
        if
        :: task == WATCHED -> done = true
        :: task != WATCHED && task != 0 -> task = 0; run_task()
        :: task == 0
        fi
    :: done -> break
    od
}

proctype Others() {
    do
    :: atomic { !done && nfull(urgent) -> urgent!OWNER }
#ifdef WATCHED_OWNS
    :: atomic { !arrived && nfull(urgent) -> arrived = true; urgent!WATCHED }
#else
    :: atomic { !arrived && nfull(common) -> arrived = true; put(common, WATCHED) }
#endif
    :: atomic { !done && nfull(common) -> put(common, GUEST) }
    :: atomic { !done && nfull(common) -> put(common, ROTATED) }
    :: done -> break
    od
}

init {
    atomic {
        if
        :: watched_kind = GUEST
        :: watched_kind = ROTATED
        fi;
        run Worker();
        run Others()
    }
}
