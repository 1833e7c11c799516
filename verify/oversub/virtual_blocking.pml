// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads take a lock word and give it back; its waiters are blocked virtually by the oversubscription scheduler, or
// sleep by futex; the scheduler may be thrown out, and one thread gets a signal. C code: src/oversub/bpf (begin_wait,
// wake_first, hand_to_cpu, is_held, take_woken, is_signalled), src/park/virtual_wait.c, src/park/word_lock.c.
//
// One step is one load or store, one atomic instruction, or what is done with a list's lock held. There is one CPU's
// list of woken threads; which CPU a thread is on does not matter to what is checked.
//
// V1  No wake is lost: all threads come to their end (a deadlock otherwise).
// V3  The first waiter is woken first.
// V4  A thread is in one list at most, and is given to a CPU once for each time that it was taken from one.
// V7  No wake goes to the wrong kind of waiter alone: as V1.
// S1  A thread with a signal is not left blocked.
#ifndef THREADS
#define THREADS 3
#endif
#ifndef TURNS
#define TURNS 1
#endif

bit I1, V3, V4, S1;
#define ASSERT(invariant, condition) assert(invariant || (condition))

#define FREE 0
#define SLEEPERS 2 // HELD_WITH_SLEEPERS; HELD adds nothing to what is checked here
byte word;
byte inside;

mtype { RUNNING, BLOCKED, WOKEN };
mtype state[THREADS] = RUNNING;
bool held[THREADS];
bool off[THREADS];   // the kernel waits for the scheduler to give the thread back
bool asleep[THREADS]; // by futex
chan bucket = [THREADS] of { byte };
chan woken = [THREADS] of { byte };
bool in_place = true;
bool pending; // a signal, of thread 0
bool signalled;
byte finished;

// end_wait: with the bucket's lock held.
inline end_wait(who, then) {
    atomic {
        if
        :: state[who] == BLOCKED ->
           bucket ?? eval(who);
           state[who] = then
        :: else
        fi
    }
}

inline hand_to_cpu(who) {
    atomic {
        ASSERT(V4, !(woken ?? [eval(who)]));
        woken ! who
    }
}

// The kernel's side of a thread that comes to run.
inline give(who) {
    ASSERT(V4, off[who]);
    off[who] = false
}

inline wake_one() {
    // fentry/futex_wake: the first virtual waiter
#ifndef MUTANT_VIRTUAL_WAITERS_SKIPPED
    atomic {
        if
        :: nempty(bucket) ->
#ifdef MUTANT_LAST_IS_WOKEN
           byte i;
           i = 0;
           do
           :: i + 1 < len(bucket) -> bucket ? chosen; bucket ! chosen; i++
           :: else -> break
           od;
           i = 0;
           if
           :: len(bucket) > 1 -> ASSERT(V3, false)
           :: else
           fi;
#endif
           bucket ? chosen;
           ASSERT(V4, state[chosen] == BLOCKED);
           state[chosen] = WOKEN
        :: empty(bucket) -> chosen = THREADS
        fi
    };
    if
    :: chosen < THREADS -> hand_to_cpu(chosen); chosen = 0
    :: else -> chosen = 0
    fi;
#endif
    // the kernel's own FUTEX_WAKE: a sleeper
#ifdef MUTANT_SLEEPERS_SKIPPED
    if
    :: in_place
    :: !in_place ->
#endif
    atomic {
        if
        :: asleep[0] -> asleep[0] = false
        :: !asleep[0] && asleep[1] -> asleep[1] = false
        :: !asleep[0] && !asleep[1] && asleep[THREADS - 1] -> asleep[THREADS - 1] = false
        :: else
        fi
    }
#ifdef MUTANT_SLEEPERS_SKIPPED
    fi
#endif
}

proctype Thread(byte me) {
    byte turns, chosen, was;
    bool vain;
    do
    :: turns < TURNS ->
       // hf_word_lock_blocking
       do
       :: atomic { was = word; word = SLEEPERS };
          if
          :: was == FREE -> was = 0; break
          :: else -> was = 0
          fi;
          // hf_wait_virtually
          if
          :: in_place && (state[me] == RUNNING) ->
             // begin_wait
#ifdef MUTANT_WORD_READ_FIRST
             vain = (word != SLEEPERS);
             atomic { bucket ! me; state[me] = BLOCKED };
#else
             atomic { bucket ! me; state[me] = BLOCKED };
             vain = (word != SLEEPERS);
#endif
#ifndef MUTANT_SIGNAL_UNSEEN
             vain = vain || (pending && me == 0);
#endif
             if
             :: vain -> end_wait(me, RUNNING)
             :: else
             fi;
             vain = false;
             // the thread gives the CPU up: is_held
             if
             :: state[me] == BLOCKED ->
                off[me] = true;
                held[me] = true;
#ifndef MUTANT_HELD_UNCHECKED
                if
                :: state[me] == BLOCKED
                :: else ->
                   atomic {
                       if
                       :: held[me] -> held[me] = false; give(me)
                       :: !held[me]
                       fi
                   }
                fi;
#endif
                atomic { ASSERT(S1, !(off[me] && state[me] == BLOCKED && me == 0 && pending && signalled)) };
#ifdef MUTANT_THROWN_OUT_STAYS
                !off[me]
#else
                !off[me] || !in_place;
                off[me] = false
#endif
             :: else
             fi;
             // the signal is handled when the thread returns to its program
             if
             :: me == 0 -> pending = false
             :: else
             fi
          :: else
          fi;
          // FUTEX_WAIT
          if
          :: word == SLEEPERS ->
             atomic {
                 if
                 :: word == SLEEPERS -> asleep[me] = true
                 :: else
                 fi
             };
             !asleep[me]
          :: else
          fi
       od;
       inside++;
       ASSERT(I1, inside == 1);
       inside--;
       // hf_word_unlock
       word = FREE;
       wake_one();
       turns++
    :: turns == TURNS -> break
    od;
    finished++
}

// dispatch: take_woken
proctype Cpu() {
    byte next;
    bool was;
    do
    :: atomic { nempty(woken) && in_place -> woken ? next; ASSERT(V4, state[next] == WOKEN); state[next] = RUNNING };
       atomic { was = held[next]; held[next] = false };
#ifdef MUTANT_DISPATCH_TAKES_ANY
       was = true;
#endif
       atomic {
           if
           :: was && in_place -> give(next)
           :: else
           fi;
           was = false;
           next = 0
       }
    :: finished == THREADS || !in_place -> break
    od
}

#ifdef EJECTED
proctype Ejection() {
    if
    :: in_place = false
    :: true
    fi
}
#endif

#ifdef SIGNALLED
proctype Signal() {
    pending = true;
    // is_signalled
    if
    :: state[0] == BLOCKED ->
       atomic {
           if
           :: state[0] == BLOCKED -> bucket ?? eval(0); state[0] = WOKEN; hand_to_cpu(0)
           :: else
           fi
       }
    :: else
    fi;
    signalled = true;
    atomic { ASSERT(S1, !(off[0] && state[0] == BLOCKED && pending && in_place)) }
}
#endif

init {
    byte i;
    atomic {
        do
        :: i < THREADS -> run Thread(i); i++
        :: else -> break
        od;
        run Cpu();
#ifdef EJECTED
        run Ejection();
#endif
#ifdef SIGNALLED
        run Signal();
#endif
        i = 0
    };
    finished == THREADS
}
