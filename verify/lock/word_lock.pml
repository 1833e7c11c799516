// SPDX-License-Identifier: MIT OR Apache-2.0
// The lock word alone, without a queue: hf_word_trylock, hf_word_lock_blocking, hf_word_unlock.
// C code: src/park/word_lock.h, src/park/word_lock.c, src/lock/basic/blocking.c; glibc's low-level lock has the same
// steps.
//
//     word free                                                       word free
//   lock() ------------------------------------------------------------> inside
//      | word taken                                                        ^
//      +------------> exchanges for HELD_WITH_SLEEPERS -- word free -------+
//                            ^        | word taken
//                      woken |        v
//                           asleep on the word ---> ETIMEDOUT
//
// Each thread locks any number of times, each time in any of the ways, and then once for the last time. Checked: I1,
// I2, I4, and that no thread is left asleep (no invalid end state). Steps, ghosts and invariants: lock_word.inc.
#ifndef THREADS
#define THREADS 4
#endif
#include "lock_word.inc"

proctype Thread(byte me) {
    bool last_round, last_user;
#ifdef MUTANT_WOKEN_STORES_HELD
    bool slept;
#endif
#if defined(MUTANT_RELEASE_CHECKS_THEN_STORES) || defined(MUTANT_WAKE_BEFORE_RELEASE)
    byte seen;
#endif

    goto outside;
    // Before they are named in what is inlined, as Spin wants it.
taken:
    sleeper_goes();
    goto holding;
timed_out:
    sleeper_goes();
    goto returned;

outside:
    OWN_STORES_ARE_SEEN;
    if
    // lock, trylock, clocklock: the compare-and-swap succeeds.
#ifdef MUTANT_TRYLOCK_CHECKS_THEN_STORES
    :: atomic { WORD == HF_WORD_FREE -> TOUCH };
       atomic { swap_free_for(HF_WORD_HELD) };
       goto holding
#else
    :: atomic { WORD == HF_WORD_FREE -> swap_free_for(HF_WORD_HELD) }; goto holding
#endif
    // It fails. trylock returns false; the others wait.
    :: atomic { WORD != HF_WORD_FREE -> TOUCH }; goto returned
    :: atomic { WORD != HF_WORD_FREE -> TOUCH }; goto waiting
    // pthread_cond_wait in glibc starts with the exchange.
    :: true -> goto waiting
    fi;

waiting:
#ifdef COUNTED
    // FlexGuard's waiters poll before they announce themselves: they ask (hf_defer_announces), or announce others
    // before a timed sleep (wake_is_passed_on), and are not counted then.
    if
    :: exchange_for_sleepers(holding); goto waiting
    :: atomic { WORD == HF_WORD_HELD -> TOUCH; WORD = HF_WORD_HELD_WITH_SLEEPERS }; goto waiting
    :: true
    fi;
#endif
#ifdef MUTANT_WOKEN_STORES_HELD
    if
    :: atomic { slept && WORD == HF_WORD_FREE -> slept = false; swap_free_for(HF_WORD_HELD) }; goto holding
    :: true
    fi;
    slept = true;
#endif
    sleeper_comes();
    if
    :: atomic { WORD == HF_WORD_HELD_WITH_SLEEPERS -> TOUCH; sleeper[me] = AWAKE; ASSERT(I2, I2_HOLDS) }; goto sleeping
    :: exchange_for_sleepers(taken) // whatever it is by now
    fi;
sleeping:
    futex_wait(timed_out);
    sleeper_goes();
    goto waiting;

holding:
    unlock();
returned:
    atomic {
#ifdef MUTANT_WOKEN_STORES_HELD
        slept = false;
#endif
        if
        :: last_round && OWN_STORES_ARE_SEEN -> destroyed = destroyed || last_user
        :: !last_round -> goto outside
        fi
    };
    THREAD_IS_FINISHED
}

init {
    atomic {
        byte thread;
        for (thread : 1 .. THREADS) {
            run Thread(thread)
        }
#ifdef COUNTED
        run Memory()
#endif
    }
}
