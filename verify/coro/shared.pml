// SPDX-License-Identifier: MIT OR Apache-2.0
// The coroutine reader-writer mutex: who may come in, who is let in by whom, and in which order.
// C++ code: coro/include/holdfast/coro/shared_mutex.hpp (R1 to R3; may_enter, enter_as, admit, leave, downgrade,
// someone_left), and that of waited_on.inc, where the steps and the other invariants are.
//
// Two tasks read, two write. One of each may give up waiting; the other writer may go on as a reader.
//
// R1  Exclusion: one writer, or any number of readers.
// R2  Nobody is forgotten: when the guard is free, a task that is first in the list could not enter, or was cancelled,
//     or one that was before it has just given up and is about to look.
// R3  No writer comes in between a writer's section and that which it goes on with as a reader.
// FIFO  Nobody comes in past one that waits.
#define AT_FIRST(one) ENTERS
#define LIMITED 2
#include "wait.inc"

bit R1, R2, R3, FIFO;

#define IS_READER(one) (one == 2 || one == 3)

byte readers;
bool written;
bool downgraded;       // the writer that may be is a reader now
#define DOWNGRADES(one) (one == 4)
#define READS(one) (IS_READER(one) || (DOWNGRADES(one) && downgraded))
byte reading, writing; // ghost: inside

#ifdef MUTANT_WRITES_BESIDE_READERS
#define MAY_ENTER(one) (!written)
#else
#define MAY_ENTER(one) (!written && (IS_READER(one) || readers == 0))
#endif
#ifdef MUTANT_PASSES_WHO_WAITS
#define TAKES(one) MAY_ENTER(one)
#else
#define TAKES(one) (len(waiters) == 0 && MAY_ENTER(one))
#endif

#define COULD_ENTER(one) (waiters?[one] && state[one] == WAITING && MAY_ENTER(one))
#define FIRST_COULD_ENTER (COULD_ENTER(1) || COULD_ENTER(2) || COULD_ENTER(3) || COULD_ENTER(4))
#define GUARDED ASSERT(R2, someone_leaves > 0 || !FIRST_COULD_ENTER)

inline count(one) {
    readers = readers + IS_READER(one);
    written = written || !IS_READER(one)
}

// The waiters have been there before `one`.
#define WAITS(other) (linked[other] && state[other] == WAITING)
inline take(one) {
    ASSERT(FIFO, !WAITS(1) && !WAITS(2) && !WAITS(3) && !WAITS(4));
    count(one)
}

// admit(): a writer, or as many readers as come before the next writer.
inline admit() {
    do
    :: len(waiters) > 0 ->
        waiters?<first>;
        TOUCH_WAIT(first);
        if
        :: !MAY_ENTER(first) -> break
        :: MAY_ENTER(first) ->
            waiters?first;
            linked[first] = false;
            if
#ifdef MUTANT_LETS_THE_CANCELLED_IN
            :: true ->
#else
            :: state[first] == WAITING ->
#endif
                state[first] = CHOSEN;
                count(first);
                chosen!first;
#ifdef MUTANT_LETS_ONE_IN
                break
#endif
            :: state[first] == CANCELLED
            fi
        fi
    :: len(waiters) == 0 -> break
    od;
    first = 0
}

inline leave(one) {
    if
    :: READS(one) -> readers--
    :: else -> written = false
    fi;
#ifdef MUTANT_READERS_LEAVE_QUIETLY
    if
    :: IS_READER(one)
    :: else -> admit()
    fi
#else
    admit()
#endif
}

// A waiter that gave up may have kept others waiting for nothing.
inline someone_left() {
#ifdef MUTANT_NOBODY_AFTER_THE_CANCELLED
    someone_leaves--
#else
    atomic { !guarded -> TOUCH; admit(); someone_leaves--; GUARDED };
    schedule_owners()
#endif
}

#define SECTION(one)                                                                                                   \
    atomic {                                                                                                           \
        reading = reading + IS_READER(one);                                                                            \
        writing = writing + !IS_READER(one);                                                                           \
        ASSERT(R1, writing + (reading > 0) <= 1)                                                                       \
    }
// downgrade(), perhaps, under the guard; those that it lets in are scheduled.
inline downgrade() {
    atomic {
        !guarded ->
        TOUCH;
        ASSERT(R3, writing == 1);
        written = false;
#ifdef MUTANT_DOWNGRADE_GIVES_IT_BACK_FIRST
        admit();
#endif
        readers++;
        downgraded = true;
#ifndef MUTANT_DOWNGRADE_LETS_NOBODY_IN
        admit();
#endif
        writing--;
        reading++;
        GUARDED
    };
    schedule_owners();
    ASSERT(R3, writing == 0)
}
inline end_of_section(one) {
    if
    :: DOWNGRADES(one) -> downgrade()
    :: true
    fi;
    atomic {
        reading = reading - READS(one);
        writing = writing - !READS(one)
    }
}
#define END_OF_SECTION(one) end_of_section(one)
#define OVER ASSERT(R2, readers == 0 && !written && len(waiters) == 0)

#include "waited_on.inc"
