// SPDX-License-Identifier: MIT OR Apache-2.0
// The reader-writer lock: one state word, on which readers and writers sleep.
// C code: src/lock/posix/read_write_state.h (the word's states, RW1, RW2, RW3, I4), src/lock/posix/read_write_lock.c.
// Of src/lock/posix/read_write_batch.c only a reader's way out of being counted and back matters here: its looks are
// tries.
//
//     FREE -- reader: + 1 --> READING           FREE -- writer: sets WRITER --> WRITING
//     WRITING -- writer: clears WRITER --> FREE, or READING by those that were counted meanwhile
//
// One step is one atomic instruction, or the work of one futex call inside the kernel. Of a loop of a load and a
// compare-and-swap two steps matter: the compare-and-swap that succeeds, and the load that ends the loop. The queue of
// the writers that spin is not here: it only decides who polls (flexguard.pml: I3, I5), and here anyone may poll at any
// time, and stop. Each thread locks any number of times; each time it may try, wait, or give up at a deadline. How a
// sleep ends is modelled as in lock_word.inc.
//
// Checked:
// RW1 Exclusion.
// RW2 While a writer sleeps, the state is not free and has WRITERS_SLEEP, or somebody is on its way to wake a writer,
//     or a woken writer is on its way to set WRITERS_SLEEP.
// RW3 While a reader sleeps, the state has READERS_SLEEP, and WRITER or WRITERS_FIRST; or somebody is about to wake
//     all readers.
// RW4 WRITERS_FIRST does not outlast the writers that wait.
// I4  Release is the last touch. A writer that finds that it is the last user destroys the lock after its unlock.
//     (A reader can't know that: others may still read.)
// And no deadlock: a thread that waits will be let go on.
//
// Variants. Threads up to READERS only read, threads above THREADS - WRITERS only write; those between do both.
// -DPREFERS_WRITERS: readers are behind the writers that wait (hf_rw_wait_to_write_first,
//     hf_rw_wait_behind_writers).
// -DREALTIME_READER, with that: thread 1 is a real-time thread (wait_before_writers).
// -DREADERS_FULL=n: where there are too many readers, in units of the state word.
#ifndef THREADS
#define THREADS 4
#endif
#ifndef READERS
#define READERS 2
#endif
#ifndef WRITERS
#define WRITERS 2
#endif
#define MAY_READ (me <= THREADS - WRITERS)
#define MAY_WRITE (me > READERS)

#define HF_RW_WRITER 1
#define HF_RW_WRITERS_SLEEP 2
#define HF_RW_READERS_SLEEP 4
#define HF_RW_WRITERS_FIRST 8
#define HF_RW_READER 16
#ifndef READERS_FULL
#define READERS_FULL 128
#endif
#define IS_FREE(state) (state < HF_RW_READER && !(state & HF_RW_WRITER))
#define IS_LAST_READER(state) (state >= HF_RW_READER && IS_FREE(state - HF_RW_READER))
#define LETS_READERS_IN(state) (!(state & (HF_RW_WRITER | HF_RW_WRITERS_FIRST)) && state < READERS_FULL)

bit RW1, RW2, RW3, RW4, I4;
#define ASSERT(invariant, condition) assert(invariant || (condition))

byte state;
byte waiting_writers;
byte clears_due; // ghost: a thread that has found itself the last of them and has not cleared the bit yet
bool writer_inside;     // ghost
byte readers_inside;    // ghost
byte writer_wakes_due;  // ghost: unlockers that have to wake a writer and have not yet
byte readers_wakes_due; // ghost: a thread that has to wake the readers and has not yet

// Where each thread stands with the kernel, as in lock_word.inc. Only of writers is it told that they were woken.
#define AWAKE 0
#define SLEEPS_TO_READ 1
#define SLEEPS_TO_WRITE 2
#define WOKEN 3
byte sleeper[THREADS + 1];

#define READS(t) (sleeper[t] == SLEEPS_TO_READ)
#define WRITES(t) (sleeper[t] == SLEEPS_TO_WRITE)
#define IS_WOKEN(t) (sleeper[t] == WOKEN)
#if THREADS == 3
#define ANY(is) (is(1) || is(2) || is(3))
#elif THREADS == 4
#define ANY(is) (is(1) || is(2) || is(3) || is(4))
#endif

#define RW2_HOLDS                                                                                                      \
    (!ANY(WRITES) || (!IS_FREE(state) && (state & HF_RW_WRITERS_SLEEP)) || writer_wakes_due > 0 || ANY(IS_WOKEN))
#define RW3_HOLDS                                                                                                      \
    (!ANY(READS) || readers_wakes_due > 0 ||                                                                           \
     ((state & HF_RW_READERS_SLEEP) && (state & (HF_RW_WRITER | HF_RW_WRITERS_FIRST))))
#define RW4_HOLDS (!(state & HF_RW_WRITERS_FIRST) || waiting_writers > 0 || clears_due > 0)

inline nobody_forgotten() {
    ASSERT(RW2, RW2_HOLDS);
    ASSERT(RW3, RW3_HOLDS);
    ASSERT(RW4, RW4_HOLDS)
}

byte users = THREADS; // threads that will still lock
bool destroyed;       // by the one that found itself the last user
#define TOUCH ASSERT(I4, !destroyed)

inline enter_to_read() {
    ASSERT(RW1, !writer_inside);
    readers_inside++;
    seen = 0;
    nobody_forgotten()
}

// What follows in the step that has set WRITER.
inline enter_to_write() {
    ASSERT(RW1, !writer_inside && readers_inside == 0);
    writer_inside = true;
    sleeper[me] = AWAKE;
    seen = 0;
    slept = false;
    nobody_forgotten()
}

inline settle_last_round(alone) {
    if
    :: users--; last_round = true; last_user = (alone && users == 0)
    :: true
    fi
}

// hf_rw_wake_readers
inline wake_readers() {
    if :: READS(1) -> sleeper[1] = AWAKE :: else fi;
    if :: READS(2) -> sleeper[2] = AWAKE :: else fi;
#if THREADS - WRITERS > 2
    if :: READS(3) -> sleeper[3] = AWAKE :: else fi
#endif
}

// hf_rw_wake_writer: the kernel may choose any writer.
inline wake_writer() {
    if
#if READERS < 1 || defined(REALTIME_READER)
    :: WRITES(1) -> sleeper[1] = WOKEN
#endif
#if READERS < 2
    :: WRITES(2) -> sleeper[2] = WOKEN
#endif
    :: WRITES(3) -> sleeper[3] = WOKEN
#if THREADS > 3
    :: WRITES(4) -> sleeper[4] = WOKEN
#endif
#ifdef MUTANT_WAKE_OF_ANY_KIND
    :: READS(1) -> sleeper[1] = AWAKE
    :: READS(2) -> sleeper[2] = AWAKE
#endif
    :: !ANY(WRITES)
    fi
}

#ifdef MUTANT_READER_SLEEPS_UNCHECKED
#define READER_MAY_SLEEP true
#else
#define READER_MAY_SLEEP (state == seen)
#endif
#ifdef MUTANT_WRITER_SLEEPS_UNCHECKED
#define WRITER_MAY_SLEEP true
#else
#define WRITER_MAY_SLEEP (state == seen)
#endif

#ifdef PREFERS_WRITERS
#define ANNOUNCED HF_RW_WRITERS_FIRST
#else
#define ANNOUNCED 0
#endif

proctype Thread(byte me) {
    byte seen;
    bool slept; // `written` has HF_RW_WRITERS_SLEEP
    bool waking_writer;
    bool last_round, last_user;
#ifdef PREFERS_WRITERS
    bool withdraws; // from being counted, to wait behind the writers
#endif

outside:
    if
    :: MAY_READ -> goto reading
    :: MAY_WRITE -> goto writing
    :: atomic { users-- }; goto finished
    fi;

    // hf_rw_read_begin
reading:
    if
    :: atomic {
           TOUCH;
           seen = state;
           state = state + HF_RW_READER;
           if
           :: LETS_READERS_IN(seen) -> enter_to_read(); goto holding_to_read
           :: seen >= READERS_FULL -> seen = 0; goto refused
           :: !LETS_READERS_IN(seen) && seen < READERS_FULL ->
                  seen = 0;
#ifdef PREFERS_WRITERS
                  withdraws = true;
                  goto releasing_to_read
#endif
           fi
       }
    // hf_rw_read_try_acquire
#ifdef MUTANT_READER_CHECKS_THEN_ADDS
    :: atomic { LETS_READERS_IN(state) -> TOUCH };
       atomic { TOUCH; state = state + HF_RW_READER; enter_to_read(); goto holding_to_read }
#else
    :: atomic { LETS_READERS_IN(state) -> TOUCH; state = state + HF_RW_READER; enter_to_read(); goto holding_to_read }
#endif
    :: atomic { !LETS_READERS_IN(state) -> TOUCH }; goto returned
    fi;

#ifndef PREFERS_WRITERS
    // hf_rw_wait_to_read
waiting_to_read:
    if
    :: atomic { !(state & HF_RW_WRITER) -> TOUCH; enter_to_read(); goto holding_to_read }
    // read_in_turn: for some time it is not counted, and may look whether it gets in.
#ifdef MUTANT_LEAVES_IN_TURN_UNLOOKED
    :: atomic { TOUCH; state = state - HF_RW_READER; nobody_forgotten() }; goto reading
#else
    :: atomic { state & HF_RW_WRITER -> TOUCH; state = state - HF_RW_READER; nobody_forgotten() }; goto reading
#endif
    :: atomic {
           TOUCH;
#ifndef MUTANT_READER_SLEEPS_UNANNOUNCED
           state = state | HF_RW_READERS_SLEEP;
#endif
           if
           :: state & HF_RW_WRITER -> seen = state
           :: !(state & HF_RW_WRITER) -> enter_to_read(); goto holding_to_read
           fi
       }
    fi;
    if
    :: atomic { READER_MAY_SLEEP -> TOUCH; seen = 0; sleeper[me] = SLEEPS_TO_READ; nobody_forgotten() };
       if
       :: sleeper[me] == AWAKE
#ifdef SLEEP_ENDS_BY_ITSELF
       :: atomic { READS(me) -> sleeper[me] = AWAKE }
       :: atomic { READS(me) -> sleeper[me] = AWAKE }; goto giving_up_reading
#endif
       fi
    :: seen = 0 // the state was another, a signal, a stray wake
    :: atomic { seen = 0; goto giving_up_reading }
    fi;
    goto waiting_to_read;

    // stop_being_counted
giving_up_reading:
    if
#ifdef MUTANT_LATE_READER_LEAVES_UNLOOKED
    :: atomic { TOUCH; state = state - HF_RW_READER; nobody_forgotten() }; goto returned
#else
    :: atomic { state & HF_RW_WRITER -> TOUCH; state = state - HF_RW_READER; nobody_forgotten() }; goto returned
    :: atomic { !(state & HF_RW_WRITER) -> TOUCH }; goto waiting_to_read
#endif
    fi;

#else
    // hf_rw_wait_behind_writers
behind_writers:
#ifdef REALTIME_READER
    if
    :: me == 1 -> goto before_writers
    :: me != 1
    fi;
#endif
    if
    :: atomic { LETS_READERS_IN(state) -> TOUCH; state = state + HF_RW_READER; enter_to_read(); goto holding_to_read }
    :: atomic { !LETS_READERS_IN(state) -> TOUCH }
    fi;
    atomic {
        TOUCH;
        state = state | HF_RW_READERS_SLEEP;
        if
        :: state & (HF_RW_WRITER | HF_RW_WRITERS_FIRST) -> seen = state
#ifndef MUTANT_READER_SLEEPS_AFTER_ALL
        :: !(state & (HF_RW_WRITER | HF_RW_WRITERS_FIRST)) -> goto behind_writers
#else
        :: !(state & (HF_RW_WRITER | HF_RW_WRITERS_FIRST)) -> seen = state
#endif
        fi
    };
    if
    :: atomic { state == seen -> TOUCH; seen = 0; sleeper[me] = SLEEPS_TO_READ; nobody_forgotten() };
       if
       :: sleeper[me] == AWAKE
#ifdef SLEEP_ENDS_BY_ITSELF
       :: atomic { READS(me) -> sleeper[me] = AWAKE }
       :: atomic { READS(me) -> sleeper[me] = AWAKE }; goto returned
#endif
       fi
    :: seen = 0 // the state was another, a signal, a stray wake
    :: atomic { seen = 0; goto returned }
    fi;
    goto behind_writers;
#ifdef REALTIME_READER
    // wait_before_writers: sleeps as a writer does.
before_writers:
    if
    :: atomic {
           !(state & HF_RW_WRITER) && state < READERS_FULL -> TOUCH;
           state = state + HF_RW_READER;
#ifndef MUTANT_REALTIME_READER_FORGETS_WRITERS
           if
           :: slept -> state = state | HF_RW_WRITERS_SLEEP
           :: !slept
           fi;
#endif
           slept = false;
           sleeper[me] = AWAKE;
           enter_to_read();
           goto holding_to_read
       }
    :: atomic {
           state & HF_RW_WRITER -> TOUCH;
           state = state | HF_RW_WRITERS_SLEEP;
           seen = state;
           slept = true;
           sleeper[me] = AWAKE
       }
    fi;
    if
    :: atomic { state == seen -> TOUCH; seen = 0; sleeper[me] = SLEEPS_TO_WRITE; nobody_forgotten() };
       if
       :: sleeper[me] == WOKEN
#ifdef SLEEP_ENDS_BY_ITSELF
       :: atomic { WRITES(me) -> sleeper[me] = AWAKE }
       :: atomic { WRITES(me) -> sleeper[me] = AWAKE; slept = false }; goto returned
#endif
       fi
    :: seen = 0
    :: atomic { seen = 0; slept = false; goto returned }
    fi;
    goto before_writers;
#endif
#endif

    // Too many readers.
refused:
#ifdef MUTANT_REFUSED_READER_WAKES_NOBODY
    atomic { TOUCH; state = state - HF_RW_READER; nobody_forgotten() };
    goto returned;
#else
    goto releasing_to_read;
#endif

    // hf_rw_read_release
holding_to_read:
    atomic { readers_inside--; settle_last_round(false) };
releasing_to_read:
    if
#ifdef MUTANT_LAST_READER_CHECKS_FIRST
    :: atomic { IS_LAST_READER(state) && (state & HF_RW_WRITERS_SLEEP) -> TOUCH };
       atomic { TOUCH; state = 0; writer_wakes_due++ }
#else
    :: atomic {
           IS_LAST_READER(state) && (state & HF_RW_WRITERS_SLEEP) -> TOUCH;
#ifdef MUTANT_LAST_READER_FORGETS_READERS
           state = 0;
#else
           state = (state - HF_RW_READER) & ~HF_RW_WRITERS_SLEEP;
#endif
           writer_wakes_due++
       }
#endif
    // Not so when it looked, or not any more.
    :: atomic {
           TOUCH;
           state = state - HF_RW_READER;
           if
           :: (state & HF_RW_WRITERS_SLEEP) && IS_FREE(state) -> writer_wakes_due++
           :: else -> nobody_forgotten(); goto released_to_read
           fi
       }
    fi;
#ifdef MUTANT_READER_LOOKS_AGAIN
    atomic { TOUCH }; // for what it would do with what it sees
#endif
    atomic {
#ifndef MUTANT_LAST_READER_WAKES_NOBODY
        wake_writer();
#endif
        writer_wakes_due--;
        nobody_forgotten()
    };
released_to_read:
#ifdef PREFERS_WRITERS
    if
    :: withdraws -> withdraws = false; goto behind_writers
    :: !withdraws
    fi;
#endif
    goto returned;

    // hf_rw_write_try_acquire
writing:
    if
#ifdef MUTANT_WRITER_CHECKS_THEN_STORES
    :: atomic { IS_FREE(state) -> TOUCH };
       atomic { TOUCH; state = state | HF_RW_WRITER; enter_to_write(); goto holding_to_write }
#else
    :: atomic { IS_FREE(state) -> TOUCH; state = state | HF_RW_WRITER; enter_to_write(); goto holding_to_write }
#endif
    :: atomic { !IS_FREE(state) -> TOUCH }
    :: atomic { !IS_FREE(state) -> TOUCH }; goto returned
    fi;

#ifdef PREFERS_WRITERS
    // hf_rw_wait_to_write_first
    atomic { TOUCH; waiting_writers++ };
    atomic { TOUCH; state = state | HF_RW_WRITERS_FIRST };
#endif

    // hf_rw_wait_to_write
waiting_to_write:
    if
    // spin_to_write
    :: atomic {
           IS_FREE(state) -> TOUCH; state = state | HF_RW_WRITER;
#ifndef MUTANT_WOKEN_FORGETS_SLEEPERS
           if
           :: slept -> state = state | HF_RW_WRITERS_SLEEP
           :: !slept
           fi;
#endif
           enter_to_write();
           goto waited_to_write
       }
    // announce
#ifdef MUTANT_SPINNER_ANNOUNCES_BY_STORE
    :: atomic { !IS_FREE(state) -> TOUCH; seen = state };
       atomic { TOUCH; state = seen | HF_RW_WRITERS_SLEEP; seen = 0; nobody_forgotten() };
       goto waiting_to_write
#else
    :: atomic { !IS_FREE(state) -> TOUCH; state = state | HF_RW_WRITERS_SLEEP; nobody_forgotten() };
       goto waiting_to_write
#endif
    // acquire_or_announce
    :: atomic {
           IS_FREE(state) -> TOUCH;
#ifdef MUTANT_WOKEN_FORGETS_SLEEPERS
           state = state | HF_RW_WRITER;
#else
           state = state | HF_RW_WRITER | HF_RW_WRITERS_SLEEP | ANNOUNCED;
#endif
           enter_to_write();
           goto waited_to_write
       }
    :: atomic {
           !IS_FREE(state) -> TOUCH;
#ifndef MUTANT_WRITER_SLEEPS_UNANNOUNCED
           state = state | HF_RW_WRITERS_SLEEP | ANNOUNCED;
#endif
           seen = state;
           sleeper[me] = AWAKE;
           nobody_forgotten()
       }
    fi;
    slept = true;
    if
    :: atomic { WRITER_MAY_SLEEP -> TOUCH; seen = 0; sleeper[me] = SLEEPS_TO_WRITE; nobody_forgotten() };
       if
       :: sleeper[me] == WOKEN
#ifdef MUTANT_WOKEN_GIVES_UP
       :: atomic { sleeper[me] == WOKEN -> sleeper[me] = AWAKE; nobody_forgotten() }; goto not_waiting_to_write
#endif
#ifdef SLEEP_ENDS_BY_ITSELF
       :: atomic { WRITES(me) -> sleeper[me] = AWAKE }
       :: atomic { WRITES(me) -> sleeper[me] = AWAKE }; goto not_waiting_to_write
#endif
       fi
    :: seen = 0 // the state was another, a signal, a stray wake
    :: atomic { seen = 0; goto not_waiting_to_write }
    fi;
    goto waiting_to_write;

waited_to_write:
#ifdef PREFERS_WRITERS
    atomic {
        TOUCH;
        waiting_writers--;
        if
        :: waiting_writers == 0 -> clears_due++
        :: else -> goto holding_to_write
        fi
    };
#ifdef MUTANT_LAST_LEAVES_THE_BIT
    atomic { clears_due--; nobody_forgotten(); goto holding_to_write };
#endif
    atomic { TOUCH; state = state & ~HF_RW_WRITERS_FIRST; clears_due--; nobody_forgotten() };
#endif

    // hf_rw_write_release
holding_to_write:
    atomic {
        TOUCH;
        ASSERT(RW1, state & HF_RW_WRITER);
        settle_last_round(true);
        writer_inside = false;
        seen = state;
        state = state & ~HF_RW_WRITER;
#ifdef MUTANT_WRITER_FORGETS_WRITERS
        state = state & ~HF_RW_WRITERS_SLEEP;
#endif
        if
        :: IS_FREE(state) -> state = state & ~HF_RW_WRITERS_SLEEP
        :: !IS_FREE(state)
        fi;
        if
        :: !(state & HF_RW_WRITERS_FIRST) -> state = state & ~HF_RW_READERS_SLEEP
        :: state & HF_RW_WRITERS_FIRST
        fi;
        waking_writer = (IS_FREE(state) && (seen & HF_RW_WRITERS_SLEEP));
        seen = seen & ~state & HF_RW_READERS_SLEEP;
        readers_wakes_due = readers_wakes_due + (seen != 0);
        writer_wakes_due = writer_wakes_due + waking_writer;
        nobody_forgotten()
    };
#ifdef MUTANT_WRITER_LOOKS_AGAIN
    atomic { TOUCH }; // for what it would do with what it sees
#endif
    if
    :: atomic {
           seen != 0 -> seen = 0;
#ifndef MUTANT_WRITER_WAKES_NO_READERS
           wake_readers();
#endif
           readers_wakes_due--;
           nobody_forgotten()
       }
    :: seen == 0
    fi;
    if
    :: atomic {
           waking_writer -> waking_writer = false;
#ifndef MUTANT_WRITER_WAKES_NO_WRITER
           wake_writer();
#endif
           writer_wakes_due--;
           nobody_forgotten()
       }
    :: !waking_writer
    fi;
    goto returned;

    // hf_rw_wait_to_write_first, without the lock
not_waiting_to_write:
#ifdef PREFERS_WRITERS
    atomic {
        TOUCH;
        waiting_writers--;
        if
        :: waiting_writers == 0 -> clears_due++
        :: else -> goto returned
        fi
    };
    atomic {
        TOUCH;
        state = state & ~HF_RW_WRITERS_FIRST;
        clears_due--;
        seen = state & (HF_RW_READERS_SLEEP | HF_RW_WRITERS_SLEEP);
        readers_wakes_due = readers_wakes_due + ((state & HF_RW_READERS_SLEEP) != 0);
        state = state & ~HF_RW_READERS_SLEEP;
        nobody_forgotten()
    };
    if
    :: atomic {
           seen & HF_RW_READERS_SLEEP ->
#ifndef MUTANT_LAST_WAKES_NO_READERS
           wake_readers();
#endif
           readers_wakes_due--;
           nobody_forgotten()
       }
    :: !(seen & HF_RW_READERS_SLEEP)
    fi;
    // To announce again that it is first, if it came before the bit was cleared.
    if
    :: atomic { seen & HF_RW_WRITERS_SLEEP -> wake_writer(); seen = 0; nobody_forgotten() }
    :: atomic { !(seen & HF_RW_WRITERS_SLEEP) -> seen = 0 }
    fi;
#endif

returned:
    atomic {
        slept = false;
        if
        :: last_round -> destroyed = destroyed || last_user
        :: !last_round -> goto outside
        fi
    };
finished:
    skip
}

init {
    atomic {
        byte thread;
        for (thread : 1 .. THREADS) {
            run Thread(thread)
        }
    }
}
