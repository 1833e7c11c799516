// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

/** Waiters, first come, first: a lock's, or a condition's. Each is in one at most, linked by its {@code next}. */
final class WaiterQueue {
    private Waiter first;
    private Waiter last;

    /** Null when it is empty. */
    Waiter first() {
        return first;
    }

    void append(Waiter one) {
        one.next = null;
        append(one, one);
    }

    /** Those that are linked already, from one to the other, behind which there is none. */
    void append(Waiter from, Waiter to) {
        if (last == null) {
            first = from;
        } else {
            last.next = from;
        }
        last = to;
    }

    /** Requires that there is one. */
    Waiter removeFirst() {
        Waiter removed = first;
        first = removed.next;
        if (first == null) {
            last = null;
        }
        return removed;
    }

    /** If it is there. */
    void remove(Waiter gone) {
        Waiter before = null;
        Waiter one = first;
        while (one != null && one != gone) {
            before = one;
            one = one.next;
        }
        if (one == null) {
            return;
        }
        if (before == null) {
            first = gone.next;
        } else {
            before.next = gone.next;
        }
        if (last == gone) {
            last = before;
        }
    }
}
