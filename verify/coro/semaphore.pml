// SPDX-License-Identifier: MIT OR Apache-2.0
// The coroutine semaphore: permits that are given back, several at once, and go to those who wait, of whom one wants
// several.
// C++ code: coro/include/holdfast/coro/semaphore.hpp (S1 to S3; take, admit, give, someone_left), and that of
// waited_on.inc, where the steps and the other invariants are.
//
// At first there is no permit. Task 4 does not acquire; it releases two at once. The others acquire, and release what
// they had: task 1 wants two, the others one. Tasks 1 and 2 may give up waiting.
//
// S1  Permits are not lost and not made: those that are free, and those that somebody has, are those released.
// S2  Nobody is forgotten: when the guard is free, a task that is first in the list wants more than is free, or was
//     cancelled, or one that was before it has just given up and is about to look.
// S3  Nobody gets a permit past one that waits.
#define RELEASER 4
#define RELEASED 2
#define WANTS(one) (one == 1 -> 2 : 1)
#define AT_FIRST(one) (one == RELEASER -> HAS_IT : ENTERS)
#define LIMITED 2
#define LINKS(one) ahead[one] = WAITS(1) + 2 * WAITS(2) + 4 * WAITS(3)
#include "wait.inc"

bit S1, S2, S3;

byte permits;          // free_
byte inside;           // ghost: permits of tasks between acquire and release
bool released;         // ghost: the releaser has
byte ahead[TASKS + 1]; // ghost: a bit for each task that waited when it began to wait

#define WAITS(one) (linked[one] && state[one] == WAITING)
#define WAITS_AHEAD(one) ((ahead[one] & 1 && WAITS(1)) || (ahead[one] & 2 && WAITS(2)) || (ahead[one] & 4 && WAITS(3)))

#ifdef MUTANT_GIVES_WHAT_IS_THERE
#define ENOUGH(one) (permits > 0)
#else
#define ENOUGH(one) (permits >= WANTS(one))
#endif
#ifdef MUTANT_PASSES_WHO_WAITS
#define TAKES(one) ENOUGH(one)
#else
#define TAKES(one) (len(waiters) == 0 && ENOUGH(one))
#endif
#define COULD_TAKE(one) (waiters?[one] && state[one] == WAITING && ENOUGH(one))
#define FIRST_COULD_TAKE (COULD_TAKE(1) || COULD_TAKE(2) || COULD_TAKE(3))
#define GUARDED ASSERT(S2, someone_leaves > 0 || !FIRST_COULD_TAKE)

inline count(one) {
#ifdef MUTANT_TAKES_ONE_OF_MANY
    permits--
#else
    permits = permits - WANTS(one)
#endif
}

inline take(one) {
    ASSERT(S3, !WAITS(1) && !WAITS(2) && !WAITS(3));
    count(one)
}

inline admit() {
    do
    :: len(waiters) > 0 ->
        waiters?<first>;
        TOUCH_WAIT(first);
        if
#ifdef MUTANT_PASSES_THE_LARGE
        :: !ENOUGH(first) && permits > 0 && len(waiters) > 1 -> waiters?first; waiters!first // the next wants less
        :: !ENOUGH(first) && (permits == 0 || len(waiters) == 1) -> break
#else
        :: !ENOUGH(first) -> break
#endif
        :: ENOUGH(first) ->
            waiters?first;
            if
#ifdef MUTANT_LETS_THE_CANCELLED_IN
            :: true ->
#else
            :: state[first] == WAITING ->
#endif
                ASSERT(S3, !WAITS_AHEAD(first));
                linked[first] = false;
                state[first] = CHOSEN;
                count(first);
                chosen!first;
#ifdef MUTANT_LETS_ONE_IN
                break
#endif
            :: state[first] == CANCELLED -> linked[first] = false
            fi
        fi
    :: len(waiters) == 0 -> break
    od;
    first = 0
}

inline leave(one) {
#ifdef MUTANT_GIVES_BACK_ONE_OF_MANY
    permits = permits + (one == RELEASER -> RELEASED : 1);
#else
    permits = permits + (one == RELEASER -> RELEASED : WANTS(one));
#endif
    released = released || (one == RELEASER);
#ifndef MUTANT_GIVES_TO_NOBODY
    admit()
#endif
}

// One that wanted many and gave up may have kept others waiting for nothing.
inline someone_left() {
#ifdef MUTANT_NOBODY_AFTER_THE_CANCELLED
    atomic { !guarded -> someone_leaves--; GUARDED }
#else
    atomic { !guarded -> TOUCH; admit(); someone_leaves--; GUARDED };
    schedule_owners()
#endif
}

#define HAS(one) ((one != RELEASER) * WANTS(one))
#define SECTION(one) atomic { inside = inside + HAS(one); ASSERT(S1, inside <= RELEASED * released) }
#define END_OF_SECTION(one) inside = inside - HAS(one)
#define OVER ASSERT(S1, permits == RELEASED && len(waiters) == 0)

#include "waited_on.inc"
