// SPDX-License-Identifier: MIT OR Apache-2.0
// The coroutine semaphore: permits that are given back, several at once, and go to those who wait.
// C++ code: coro/include/holdfast/coro/semaphore.hpp (S1, S2; take, give, release), and that of waited_on.inc,
// where the steps and the other invariants are.
//
// At first there is no permit. Task 4 does not acquire; it releases two at once. The others acquire one each, and
// release it. Task 1 may give up waiting.
//
// S1  Permits are not lost and not made: those that are free, and those that somebody has, are those released.
// S2  When the guard is free and somebody waits that was not cancelled, no permit is free.
#define RELEASER 4
#define RELEASED 2
#define AT_FIRST(one) (one == RELEASER -> HAS_IT : ENTERS)
#define LIMITED 2
#include "wait.inc"

bit S1, S2;


byte permits;  // free_
byte inside;   // ghost: tasks between acquire and release, but the releaser
bool released; // ghost: the releaser has

#define TAKES(one) (permits > 0)
inline take(one) {
    permits--
}

// The part of give() that chooses.
inline admit() {
    do
    :: len(waiters) > 0 && permits > 0 ->
        waiters?first; // wait_list::choose()
        TOUCH_WAIT(first);
        linked[first] = false;
        if
#ifdef MUTANT_LETS_THE_CANCELLED_IN
        :: true ->
#else
        :: state[first] == WAITING ->
#endif
            state[first] = CHOSEN;
            permits--;
            chosen!first;
#ifdef MUTANT_LETS_ONE_IN
            break
#endif
        :: state[first] == CANCELLED
        fi
    :: len(waiters) == 0 || permits == 0 -> break
    od;
    first = 0
}

inline leave(one) {
    permits = permits + (one == RELEASER -> RELEASED : 1);
    released = released || (one == RELEASER);
#ifndef MUTANT_GIVES_TO_NOBODY
    admit()
#endif
}

inline someone_left() {
    someone_leaves--
}

#define SECTION(one) atomic { inside = inside + (one != RELEASER); ASSERT(S1, inside <= RELEASED * released) }
#define END_OF_SECTION(one) inside = inside - (one != RELEASER)
#define WAITS(one) (linked[one] && state[one] == WAITING)
#define GUARDED ASSERT(S2, permits == 0 || (!WAITS(1) && !WAITS(2) && !WAITS(3)))
#define OVER ASSERT(S1, permits == RELEASED && len(waiters) == 0)

#include "waited_on.inc"
