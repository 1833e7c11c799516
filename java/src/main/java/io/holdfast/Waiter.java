// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A thread that waits once for a {@link CesLock}, or for a condition of one.
 *
 * <pre>
 *               signal               an owner                 the owner frees the lock
 *     LISTED ------------> WAITING -----------> CHOSEN ------------------------------> WOKEN
 *        |                    |                    |
 *        | the thread         | the thread         | the owner writes the thread's id into the word: it has the lock
 *        '------> LEFT <------'                    V
 * </pre>
 *
 * java.W1 An owner alone links a waiter in the queue, takes it out, and chooses it; the thread alone leaves.
 * java.W2 One that is CHOSEN is granted the lock or becomes WOKEN, and is unparked after that.
 */
final class Waiter {
    static final int LISTED = 0; // waits for a condition
    static final int WAITING = 1;
    static final int CHOSEN = 2;
    static final int WOKEN = 3; // must try to acquire
    static final int LEFT = 4; // nobody waits here any more

    private static final VarHandle STATE = Fields.handle(MethodHandles.lookup(), "state", int.class);
    private static final VarHandle BELOW = Fields.handle(MethodHandles.lookup(), "below", Waiter.class);


    final Thread thread;
    final CesScheduler home; // on whose carriers the thread runs, or null
    final int tries; // how often it was woken before, and found the lock taken
    volatile int state;
    Waiter next; // towards the end of the queue, or of the condition's list: the owner's
    private volatile Waiter below; // on the stack of arrivals

    Waiter(Thread thread, CesScheduler home, int state, int tries) {
        this.thread = thread;
        this.home = home;
        this.tries = tries;
        STATE.set(this, state); // published by who links it
    }

    boolean advance(int from, int to) {
        return STATE.compareAndSet(this, from, to);
    }

    boolean hasLeft() {
        return state == LEFT;
    }

    void setBelow(Waiter one) {
        BELOW.set(this, one); // published with the top of the stack
    }

    /** Skips those that left, and forgets them. May run beside itself: each link it writes skips none that waits. */
    Waiter below() {
        Waiter linked = below;
        Waiter seen = linked;
        while (seen != null && seen.hasLeft()) {
            seen = seen.below;
        }
        if (seen != linked) {
            below = seen;
        }
        return seen;
    }

    Waiter linkedBelow() {
        return below;
    }

    /** For the owner, which has taken the stack. */
    Waiter takeBelow() {
        Waiter one = below;
        below = null;
        return one;
    }
}
