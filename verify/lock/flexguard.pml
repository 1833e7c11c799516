// SPDX-License-Identifier: MIT OR Apache-2.0
// FlexGuard: the lock word, the queue of spinning waiters, and a hint that may change at any moment.
// C code: src/lock/flexguard/flexguard.c (a waiter's states), src/lock/wait/waiter_queue.h (I3, I5),
// src/lock/flexguard/flexguard_lock.h.
//
//             word free                                        word free
//   lock() -------------------------------------------------------------> inside
//      |                                                            ^  ^
//      | word taken        spinning pays                            |  |
//      +--------------> ? -----------------> in the queue ----------+  |
//                       |  ^                   |  head, word free      |
//                       |  |                   |                       |
//       spinning does   |  |                   | spinning does not pay |
//       not pay         |  |                   | any more, or its      |
//                       v  |                   v budget is spent       |
//                  poll, as long as the lock is hot -------------------+
//                       |  | woken               word free             |
//                       v  |                                           |
//                    asleep on the word -------------------------------+
//                         word free when exchanged for HELD_WITH_SLEEPERS
//
// The hint is not a variable: wherever the C code asks it, or counts its polls, the model may go either way. Each
// thread has one record for good. It locks any number of times, each time as lock, trylock, clocklock or as glibc does
// (pthread_cond_wait, lll_lock), then once for the last time. So the stores of a slow thread come late: to a record
// whose thread has left the queue, is in it once more, or is in the queue of another lock.
//
// Checked: I1, I2, I4 (lock_word.inc), and
// I3  Late stores change nothing that matters: while its thread is in no queue, a record is IDLE. And what they hit is
//     a record; it would not be one if records died with their threads.
// I5  A waiter can always go on: no deadlock (no invalid end state), although hand-overs get lost. A loop that ends
//     after a set number of polls is modelled as one that may end after any number.
// TAIL, no number in the C code: the tail names a thread of this queue, or nobody. hf_queue_leave relies on it.
//
// Variants. -DCLAIMS: a waiter outside the queue may claim the lock at any time (claim_lock, park/claims.h: claim.C1 is
// I1 here, claim.C2 is I2), and give up; its sleep ends by itself (claim.C3), so it only polls.
// -DHEIRS: the head of the queue may be the heir (heirs.inc); the last thread enters no queue, to keep the states few.
// -DREALTIME: thread 1 is a real-time thread (go_before_others). That others give way to it is one of the
// delays that may come anywhere. -DLOCKS=2: thread 1 uses both locks, also the second while it holds the first; thread
// 2 uses the first, thread 3 the second; -DBOTH_USE_BOTH: every thread uses both. -DFORKED: the threads run in a forked
// child, where the tail may name the record of a thread that is not there, and the word may tell of sleepers that are
// not there.
#ifndef THREADS
#define THREADS 3
#endif
#include "lock_word.inc"

#ifdef BOTH_USE_BOTH
#define USES_FIRST true
#define USES_SECOND true
#else
#define USES_FIRST (me != 3)
#define USES_SECOND (me != 2)
#endif

#define HF_QUEUE_IDLE 0
#define HF_QUEUE_WAITING 1
#define HF_QUEUE_HEAD 2

#define NULL 0
#define LEFT_BEHIND (THREADS + 1) // the record of a thread of the parent

byte queue_tail[LOCKS];
byte next[THREADS + 2];
byte queue_state[THREADS + 2];

#ifdef MUTANT_RECORDS_DIE
bool dead[THREADS + 2];
#define RECORD(thread) ASSERT(I3, !dead[thread])
#else
#define RECORD(thread) skip
#endif

// hf_cas_release(&after->critical.queue_state, HF_QUEUE_WAITING, HF_QUEUE_HEAD)
inline hand_over(after) {
    RECORD(after);
    if
    :: queue_state[after] == HF_QUEUE_WAITING -> queue_state[after] = HF_QUEUE_HEAD
    :: queue_state[after] != HF_QUEUE_WAITING ->
#ifdef MUTANT_HAND_OVER_STORES
        queue_state[after] = HF_QUEUE_HEAD
#endif
    fi
}

proctype Thread(byte me) {
#if LOCKS > 1
    byte lock;       // the lock that this is about
    bool nested;     // holds the first lock and is about the second
#endif
    byte other;      // `before` in hf_queue_enter, `after` in hf_queue_leave
    bool slept;      // `held` is HF_WORD_HELD_WITH_SLEEPERS
    bool acquired;   // in the queue
    bool last_round, last_user;
#ifdef HEIRS
    bool marked;     // an heir, as owner
#endif
#if defined(MUTANT_RELEASE_CHECKS_THEN_STORES) || defined(MUTANT_WAKE_BEFORE_RELEASE)
    byte seen;
#endif

#ifdef FORKED
    bool forked_inside = (me == 1 && inside[LOCK]);
    if
    :: forked_inside -> goto holding
    :: !forked_inside
    fi;
#endif

outside:
    OWN_STORES_ARE_SEEN;
#if LOCKS > 1
    if
    :: USES_FIRST -> lock = 0
    :: USES_SECOND -> lock = 1
    :: true -> goto finished
    fi;
#endif

    // hf_flexguard_try_acquire
contending:
    if
#ifdef MUTANT_TRYLOCK_CHECKS_THEN_STORES
    :: atomic { WORD == HF_WORD_FREE -> TOUCH };
       atomic { swap_free_for(HF_WORD_HELD) };
       goto holding
#else
    :: atomic { WORD == HF_WORD_FREE -> swap_free_for(HF_WORD_HELD) }; goto holding
#endif
    // It fails: lock and clocklock wait, trylock returns false.
    :: atomic { WORD != HF_WORD_FREE -> TOUCH }; goto waiting
    :: atomic { WORD != HF_WORD_FREE -> TOUCH }; goto returned
    // pthread_cond_wait in glibc starts with the exchange.
    :: true -> goto announcing
    fi;

    // hf_flexguard_wait
waiting:
#ifdef REALTIME
    if
    :: me == 1 -> goto before_others
    :: me != 1
    fi;
#endif
#ifdef HEIRS
    if
    :: me == THREADS -> goto looking
    :: me != THREADS
    fi;
#endif
    if
    :: true -> goto looking
    // Spinning pays: hf_queue_may_enter, which nobody else can make false, and hf_queue_enter.
    :: atomic { ASSERT(I3, queue_state[me] == HF_QUEUE_IDLE); next[me] = NULL }
    fi;
    queue_state[me] = HF_QUEUE_WAITING;
    atomic {
        TOUCH;
        other = queue_tail[LOCK];
        queue_tail[LOCK] = me;
        ASSERT(TAIL, other != me)
    };
    if
    :: atomic { other == NULL -> queue_state[me] = HF_QUEUE_HEAD }
    :: atomic { other != NULL -> RECORD(other); next[other] = me; other = NULL }
    fi;

    // the places QUEUE and HEAD (lock/wait/next_step.h)
polling:
    if
    :: queue_state[me] == HF_QUEUE_HEAD ->
        if
        :: atomic { WORD == HF_WORD_FREE -> TOUCH };
            if
            :: atomic {
#ifndef MUTANT_HEAD_STORES
                   WORD == HF_WORD_FREE ->
#endif
#ifndef MUTANT_WOKEN_STORES_HELD
                   if
                   :: slept -> slept = false; swap_free_for(HF_WORD_HELD_WITH_SLEEPERS)
                   :: !slept -> swap_free_for(HF_WORD_HELD)
                   fi;
#else
                   slept = false; swap_free_for(HF_WORD_HELD);
#endif
                   acquired = true
               }; goto leaving
            :: atomic { WORD != HF_WORD_FREE -> TOUCH }; goto polling
            :: true -> goto polling // hf_defer_barges: it leaves the word to a thread that comes back for it
            fi
        :: atomic { WORD != HF_WORD_FREE -> TOUCH }; goto polling
        // hf_defer_announces: it announces a sleeper and goes on polling.
        :: true ->
#ifdef MUTANT_ASKER_STORES
            atomic { TOUCH; WORD = HF_WORD_HELD_WITH_SLEEPERS };
#else
            acquired = true; // if it gets the lock
            exchange_for_sleepers(leaving);
            acquired = false;
#endif
            goto polling
#ifdef HEIRS
        // Whatever it has found the word to be.
        :: atomic { !is_heir[me] && (heir[LOCK] == NO_HEIR || heir[LOCK] == TOOK) -> become_heir() }; goto polling
#endif
        fi
    // The hint has changed, or the waiter's spin budget is spent.
#ifdef MUTANT_WAITING_CANNOT_LEAVE
    :: queue_state[me] == HF_QUEUE_HEAD -> goto leaving
#else
    :: true -> goto leaving
#endif
    fi;

    // hf_queue_leave
leaving:
#ifdef HEIRS
    if
    :: acquired -> take_inheritance()
    :: !acquired -> leave_inheritance()
    fi;
#endif
#ifdef MUTANT_LEAVE_TRUSTS_NEXT
    atomic { other = next[me]; if :: other != NULL -> goto not_last :: other == NULL fi };
#endif
    if
    :: atomic { queue_tail[LOCK] == me -> TOUCH };
        if
        :: atomic { queue_tail[LOCK] == me -> TOUCH; queue_tail[LOCK] = NULL }; goto idle
        :: atomic { queue_tail[LOCK] != me -> TOUCH }
        fi
    :: atomic { queue_tail[LOCK] != me -> TOUCH }
    fi;
not_last:
    other = next[me]; // by one of the polls, or still NULL by the last of them
idle:
    atomic { ASSERT(TAIL, queue_tail[LOCK] != me); queue_state[me] = HF_QUEUE_IDLE };
    atomic {
        if
        :: other != NULL -> hand_over(other); other = NULL
        :: other == NULL
        fi;
        if
        :: acquired -> acquired = false; goto holding
        :: !acquired
        fi
    };

    // The place HOT: a look at a time, outside the queue. Looks that find the word taken change nothing but that
    // they touch it, as the announcement does.
looking:
    if
    :: atomic {
           WORD == HF_WORD_FREE ->
#ifndef MUTANT_LOOKER_STORES_HELD
           if
           :: slept -> slept = false; swap_free_for(HF_WORD_HELD_WITH_SLEEPERS)
           :: !slept -> swap_free_for(HF_WORD_HELD)
           fi
#else
           slept = false; swap_free_for(HF_WORD_HELD)
#endif
       }; goto holding
    // wake_is_passed_on, before a timed sleep.
#ifndef MUTANT_PASSER_STORES
    :: atomic { slept && WORD == HF_WORD_HELD -> TOUCH; WORD = HF_WORD_HELD_WITH_SLEEPERS }; goto looking
#else
    :: atomic { slept -> TOUCH; WORD = HF_WORD_HELD_WITH_SLEEPERS }; goto looking
#endif
    :: true -> goto announcing // it is not hot
#ifdef CLAIMS
    :: true -> goto claiming
#endif
    fi;

taken:
    sleeper_goes();
    goto holding;
timed_out:
    sleeper_goes();
    goto returned;

    // take_or_announce
announcing:
    sleeper_comes();
    slept = true; // if it does not get the lock
    if
    :: atomic { WORD == HF_WORD_HELD_WITH_SLEEPERS -> TOUCH; sleeper[me] = AWAKE; ASSERT(I2, I2_HOLDS) }; goto sleeping
    :: exchange_for_sleepers(taken) // whatever it is by now
    fi;
sleeping:
    ASSERT(I3, queue_state[me] == HF_QUEUE_IDLE);
    futex_wait(timed_out);
    sleeper_goes();
    goto waiting;

#ifdef CLAIMS
    goto holding;
claiming:
    sleeper_comes();
    atomic { claim[me] = CLAIM_STANDS; slept = false };
polling_as_claimant:
    if
    :: atomic { claim[me] == CLAIM_MET -> claim[me] = NO_CLAIM; own() }; goto taken
#ifdef MUTANT_CLAIM_LEFT_BEHIND
    :: atomic { WORD == HF_WORD_FREE -> swap_free_for(HF_WORD_HELD_WITH_SLEEPERS) }; goto taken
#else
    :: atomic { WORD == HF_WORD_FREE -> swap_free_for(HF_WORD_HELD_WITH_SLEEPERS) };
       atomic { ASSERT(I1, claim[me] == CLAIM_STANDS); claim[me] = NO_CLAIM };
       goto taken
#endif
    :: atomic { WORD == HF_WORD_HELD -> TOUCH; WORD = HF_WORD_HELD_WITH_SLEEPERS }; goto polling_as_claimant
    :: true // its deadline has passed
    fi;
#ifdef MUTANT_CLAIMANT_LEAVES_WITHOUT_A_LOOK
    claim[me] = NO_CLAIM;
#else
    if
    :: atomic { claim[me] == CLAIM_MET -> claim[me] = NO_CLAIM; own() }; goto taken
    :: atomic { claim[me] == CLAIM_STANDS -> claim[me] = NO_CLAIM }
    fi;
#endif
#ifdef MUTANT_CLAIMANT_GIVES_UP
    atomic { sleeper[me] = AWAKE; ASSERT(I2, I2_HOLDS) };
#else
    exchange_for_sleepers(taken);
#endif
    goto timed_out;
#endif

#ifdef REALTIME
    // go_before_others: it counts as a sleeper all the time, awake or asleep.
    goto holding;
before_others:
    sleeper_comes();
    slept = true;
polling_before_others:
    if
    :: atomic {
           WORD == HF_WORD_FREE -> slept = false;
#ifdef MUTANT_REALTIME_STORES_HELD
           swap_free_for(HF_WORD_HELD)
#else
           swap_free_for(HF_WORD_HELD_WITH_SLEEPERS)
#endif
       };
       goto taken
#ifdef MUTANT_REALTIME_ANNOUNCER_STORES
    :: atomic { TOUCH; WORD = HF_WORD_HELD_WITH_SLEEPERS }; goto polling_before_others
#else
    :: atomic { WORD == HF_WORD_HELD -> TOUCH; WORD = HF_WORD_HELD_WITH_SLEEPERS }; goto polling_before_others
#endif
    :: atomic { WORD == HF_WORD_HELD_WITH_SLEEPERS -> TOUCH; sleeper[me] = AWAKE; ASSERT(I2, I2_HOLDS) }
    :: exchange_for_sleepers(taken) // take_or_announce
    fi;
    futex_wait(timed_out);
    goto polling_before_others;
#endif

holding:
#if LOCKS > 1
    if
    :: lock == 0 && USES_SECOND -> lock = 1; nested = true; slept = false; goto contending
    :: true
    fi;
#endif
    unlock();
returned:
    atomic {
        slept = false;
        if
#if LOCKS > 1
        :: nested -> nested = false; lock = 0; goto holding
        :: !nested -> lock = 0; goto outside
#else
        :: last_round && OWN_STORES_ARE_SEEN -> destroyed = destroyed || last_user; goto finished
        :: !last_round -> goto outside
#endif
        fi
    };

finished:
#ifdef MUTANT_RECORDS_DIE
    dead[me] = true
#else
    THREAD_IS_FINISHED
#endif
}

init {
    atomic {
        byte thread;
#ifdef FORKED
        if
        :: queue_tail[LOCK] = LEFT_BEHIND; queue_state[LEFT_BEHIND] = HF_QUEUE_WAITING
        :: queue_tail[LOCK] = LEFT_BEHIND; queue_state[LEFT_BEHIND] = HF_QUEUE_HEAD
        :: true
        fi;
        if
        :: WORD = HF_WORD_HELD; inside[LOCK] = true // by the thread that forked
        :: WORD = HF_WORD_HELD_WITH_SLEEPERS; inside[LOCK] = true
        :: true
        fi;
#endif
        for (thread : 1 .. THREADS) {
            run Thread(thread)
        }
#ifdef COUNTED
        run Memory()
#endif
    }
}
