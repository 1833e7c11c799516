// SPDX-License-Identifier: MIT OR Apache-2.0
// The lock for Java's virtual threads: its word, arrivals and queue; owners that are chosen, threads that are woken to
// try, one that gives up when it likes, and a condition. Java code: java/src/main/java/io/holdfast/CesLock.java
// (L1 to L5), Waiter.java (W1, W2).
//
// One step is one atomic instruction, or what the owner alone does with its queue. Whether an unlocker gives the lock
// to a waiter, or frees it and wakes one, is left open: Exploration.java decides. `permit` is the JDK's: unpark gives
// it, park takes it. Carriers are not modelled: after it has given the lock away, the unlocker goes on sometime.
//
// Threads 1 and 2 wait for a condition in their section, until a token is there, and then signal the next; thread 2 may
// give up both waits, whenever it likes. Thread 3 brings the token, and signals one waiter.
//
// L1  Exclusion.
// L3  A free word that is WAITED is WOKEN, and at most one thread is on its way.
// L5  A thread that was chosen does not leave.
// And no deadlock: all threads end (L2, L4), which takes that no hand-over and no signal is lost.
#define THREADS 3
#define GIVES_UP 2
#define NODES 3 // of each thread: those that left lie about for a while
#define ALL (THREADS * NODES + 1)

bit L1, L3, L5;
#define ASSERT(invariant, condition) assert(invariant || (condition))

mtype = { LISTED, WAITING, CHOSEN, WOKEN, LEFT };

// The word, in its parts: a step on any of them is one on the word.
byte owner;
bool waited, woken;
chan arrivals = [ALL] of { byte }; // the stack, by the age of its nodes
chan queue = [ALL] of { byte };
chan listed = [ALL] of { byte }; // the condition's
bool token;

mtype state[ALL];
#define thread_of(node) (((node) - 1) / NODES + 1)
// Node 0 is none.
bool permit[THREADS + 1];
byte inside, on_its_way; // ghosts

#define FREE_IS_WOKEN ASSERT(L3, owner != 0 || !waited || woken)

#define IDLE(node)                                                                                                     \
    ((state[node] == LEFT || state[node] == WOKEN || state[node] == 0) && !(arrivals??[eval(node)]) &&                 \
     !(queue??[eval(node)]) && !(listed??[eval(node)]))

inline new_node(as) {
    own = (me - 1) * NODES + 1;
    own = (IDLE(own) -> own : (IDLE(own + 1) -> own + 1 : own + 2));
    assert(IDLE(own));
    state[own] = as
}

// No longer woken to try: it has the lock, or waits again.
inline arrives() {
    woken = false;
    ASSERT(L3, on_its_way == 1);
    on_its_way--;
    heir = false
}

// firstWaiter(): leaves in `next` the first that has not left, or 0.
inline first_waiter() {
    next = 0;
    do
    :: next == 0 && len(queue) == 0 && len(arrivals) == 0 -> break
    :: next == 0 && len(queue) == 0 && len(arrivals) > 0 -> // takeArrivals()
        do
        :: len(arrivals) > 0 -> arrivals?next; queue!next
        :: else -> next = 0; break
        od
    :: next == 0 && len(queue) > 0 ->
        queue?<next>;
        if
        :: state[next] == LEFT -> queue?next; next = 0
        :: else
        fi
    :: next != 0 -> break
    od
}

inline release() {
    do
    :: atomic { first_waiter() };
        if
        :: next == 0 ->
            if
#ifdef MUTANT_FREES_AT_ONCE
            :: atomic { owner = 0; waited = false; break }
#else
            :: atomic { waited -> waited = false } // and looks again
            :: atomic { !waited -> owner = 0; break }
#endif
            fi
        :: next != 0 && woken -> // one is on its way already, or comes at this moment
            if
            :: atomic { woken -> owner = 0; waited = true; break }
            :: atomic { !woken -> skip }
            :: atomic { state[next] == WAITING -> choose(); grant(); break }
            fi
        :: next != 0 && !woken ->
            if
            :: atomic { state[next] == LEFT -> skip }
            :: atomic { state[next] == WAITING -> choose() };
                if
                :: grant(); break
                :: atomic { owner = 0; waited = true; woken = true; on_its_way++; ASSERT(L3, on_its_way == 1) };
                    state[next] = WOKEN;
#ifndef MUTANT_WAKES_SILENTLY
                    permit[thread_of(next)] = true;
#endif
                    break
                fi
            fi
        fi
    od;
    next = 0
}

inline choose() {
    queue?next;
    state[next] = CHOSEN
}

inline grant() {
#ifdef MUTANT_GRANTS_UNMARKED
    atomic { owner = thread_of(next); waited = false };
#else
    atomic { owner = thread_of(next); waited = true };
#endif
    permit[thread_of(next)] = true
}

inline unlock() {
    atomic { ASSERT(L1, owner == me); inside--; };
    if
    :: atomic { !waited && !woken -> owner = 0 }
    :: (waited || woken) -> release()
    fi;
    FREE_IS_WOKEN
}

// enter(): leaves in `has` whether the caller has the lock.
inline enter() {
    atomic { new_node(WAITING); arrivals!own };
    if
    :: atomic {
           owner == 0 ->
           owner = me; waited = true; has = true;
           if
           :: heir -> arrives()
           :: else
           fi
       };
       if
       :: atomic { state[own] == WAITING -> state[own] = LEFT }
#ifdef MUTANT_KEEPS_THE_MARK
       :: atomic { state[own] != WAITING -> on_its_way-- }
#else
       :: atomic { state[own] != WAITING -> arrives() }
#endif
       fi
    :: atomic {
           owner != 0 ->
#ifndef MUTANT_WAITS_UNMARKED
           waited = true;
#endif
           if
           :: heir ->
#ifdef MUTANT_WAITS_AGAIN_AS_WOKEN
               on_its_way--; heir = false
#else
               arrives()
#endif
           :: else
           fi
       }
    fi
}

// waitLinked(): until the caller has the lock, was woken, or has left.
inline wait_linked(may_leave) {
    do
    :: atomic { owner == me -> has = true; state[own] = LEFT; break }
    :: atomic { owner != me && state[own] == WOKEN -> heir = true; break }
    :: atomic { may_leave && owner != me && state[own] == WAITING -> state[own] = LEFT; break }
#ifdef MUTANT_CHOSEN_LEAVES
    :: atomic { may_leave && owner != me && state[own] == CHOSEN -> state[own] = LEFT; break }
#endif
    :: else ->
        if
        :: permit[me] -> permit[me] = false
        :: may_leave && state[own] == WAITING
        fi
    od
}

// acquire(): leaves in `has` whether the caller has the lock, else it has given up.
inline acquire(may_leave) {
    do
    :: has -> break
    :: !has && !heir && own != 0 && state[own] == LEFT -> break
    :: !has && (heir || own == 0 || state[own] != LEFT) ->
        if
        :: atomic {
               owner == 0 ->
               owner = me; has = true;
               if
               :: heir -> arrives()
               :: else
               fi
           }
        :: enter();
            if
            :: has
            :: !has -> wait_linked(may_leave)
            fi
        fi
    od;
    own = 0
}

inline go_in() {
    atomic { ASSERT(L1, owner == me && inside == 0); inside++; has = false }
}

// await(): leaves in `gave_up` whether it did; the caller has the lock after it.
inline await(may_leave) {
    atomic { new_node(LISTED); listed!own };
    unlock();
    do
    :: atomic { state[own] != LISTED -> break }
#ifdef MUTANT_SIGNALLED_LEAVES
    :: atomic {
           may_leave && (state[own] == LISTED || state[own] == WAITING) -> state[own] = LEFT; gave_up = true; break
       }
#else
    :: atomic { may_leave && state[own] == LISTED -> state[own] = LEFT; gave_up = true; break }
#endif
    :: else ->
        if
        :: permit[me] -> permit[me] = false
        :: may_leave && state[own] == LISTED
        fi
    od;
    if
    :: gave_up -> own = 0
    :: !gave_up -> wait_linked(false)
    fi;
    acquire(false);
    go_in()
}

// signal()
inline signal() {
    do
    :: len(listed) == 0 -> break
    :: atomic {
            len(listed) > 0 ->
            listed?next;
            if
            :: state[next] == LISTED ->
                state[next] = WAITING
            :: state[next] != LISTED -> next = 0
            fi
        };
#ifdef MUTANT_SIGNALS_THOSE_THAT_LEFT
        if
        :: next == 0 -> break
        :: else
        fi;
#endif
        if
        :: next != 0 ->
            atomic {
                do
                :: len(arrivals) > 0 -> arrivals?other; queue!other
                :: else -> break
                od;
                queue!next
            };
#ifndef MUTANT_SIGNALS_UNMARKED
            waited = true;
#endif
            break
        :: next == 0
        fi
    od;
    next = 0
}

active [THREADS] proctype thread() {
    byte me = _pid + 1, own = 0, next = 0, other = 0;
    bool has = false, heir = false, gave_up = false;

    if
    :: me != THREADS ->
        acquire(me == GIVES_UP);
        if
        :: has ->
            go_in();
            do
            :: !token && !gave_up -> await(me == GIVES_UP)
            :: token || gave_up -> break
            od;
            if
            :: !gave_up -> signal()
            :: gave_up
            fi;
            unlock()
        :: !has
        fi
    :: me == THREADS ->
        acquire(false);
        go_in();
        token = true;
        signal();
        unlock()
    fi
}
