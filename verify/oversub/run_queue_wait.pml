// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread waits for a futex on its run queue, in a kernel with kernel/patches/0003, while another thread always wants
// the same CPU: so that one who is at the tail is not picked. Code of the patch: futex_block_virtually, vb_wake,
// vb_put_aside. What is done with the bucket's lock or the run queue's is one step; so is a load, or a store.
//
// Q1  No wake is lost: the waiter comes to its end (a deadlock otherwise).
// Q2  A thread is at the tail only while it says that it is blocked.
bit Q2;
#define ASSERT(invariant, condition) assert(invariant || (condition))

bool changed;  // the word
bool listed;   // the waiter is in the bucket
bool blocked;  // vb_blocked
bool aside;    // vb_aside: it is at the tail of its run queue
bool preemptible = true;
bool ended;

// try_to_wake_up(): of a thread that is runnable for the kernel it does nothing else.
inline wake() {
#ifdef MUTANT_WAKER_READS_FIRST
    skip
#else
    if
    :: blocked ->
       atomic { // the run queue's lock
           blocked = false;
#ifndef MUTANT_LEFT_ASIDE
           aside = false
#endif
       }
    :: else
    fi
#endif
}

#define RUNS !aside // what is before each step of the waiter's

active proctype waiter() {
    bool seen;
    do
    :: atomic { RUNS; // the bucket's lock
           if
           :: changed -> break
           :: else -> listed = true
           fi
       }
#ifdef MUTANT_LOOKS_FIRST
       atomic { RUNS; seen = !listed };
#endif
#ifndef MUTANT_PREEMPTIBLE
       atomic { RUNS; preemptible = false };
#endif
       atomic { RUNS; blocked = true };
#ifndef MUTANT_LOOKS_FIRST
       atomic { RUNS; seen = !listed };
#endif
       if
       :: seen -> atomic { RUNS; blocked = false }
       :: else
       fi;
       preemptible = true;
       do
       :: atomic { RUNS && blocked -> aside = true } // schedule()
       :: RUNS && !blocked -> break
       od;
       atomic { RUNS; ASSERT(Q2, !blocked); listed = false } // futex_unqueue()
    od;
    ended = true
}

// The scheduler's tick: the waiter's CPU is given to the other thread.
active proctype tick() {
    do
    :: atomic { preemptible && blocked && !aside -> aside = true }
    :: ended -> break
    od
}

active proctype waker() {
    bool was_listed, was_blocked;
    changed = true;
#ifdef MUTANT_WAKER_READS_FIRST
    was_blocked = blocked;
#endif
    atomic { was_listed = listed; listed = false }; // the bucket's lock
#ifdef MUTANT_WAKER_READS_FIRST
    if
    :: was_listed && was_blocked -> atomic { blocked = false; aside = false }
    :: else
    fi
#endif
    if
    :: was_listed -> wake()
    :: else
    fi
}

// A wake for another reason, such as a signal that another thread takes: the waiter tries again.
active proctype stray() {
    wake()
}
