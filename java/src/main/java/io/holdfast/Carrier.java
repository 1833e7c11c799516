// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * A platform thread on which virtual threads of a {@link CesScheduler} run.
 *
 * <p>An exchange, all on one carrier: the unlocker sets {@code inline} and unparks the next owner, whose task arrives
 * in {@link #takes} and becomes {@code next}; the unlocker yields, and its task goes to the scheduler's queue, where
 * other carriers find it; then {@link #run} runs {@code next}.
 *
 * <p>java.C1 While {@code next} is set, the thread that runs here is about to unmount; if it can't (pinned), it gives
 * {@code next} to the other carriers.
 * java.C2 A chain of exchanges is at most CHAIN_MAX long: then this carrier runs a task of the queue, if there is one,
 * and another carrier may run {@code next} before.
 */
final class Carrier extends Thread {
    static final int CHAIN_MAX = 64;
    private static final VarHandle ASLEEP = Fields.handle(MethodHandles.lookup(), "asleep", boolean.class);

    final CesScheduler home;
    final int slot;
    long exchanges; // next owners that took this carrier
    private volatile boolean asleep;
    // Those below are of this thread, and of the virtual thread that runs on it.
    private Runnable next;
    private boolean inline;
    private boolean parksForLock;
    private boolean othersFirst;
    private int chain;

    Carrier(CesScheduler home, int slot, String name) {
        super(null, null, name, 0, false);
        this.home = home;
        this.slot = slot;
        setDaemon(true);
    }

    /** The one that runs the calling virtual thread, or null. */
    static Carrier here() {
        return JdkThreads.currentCarrier();
    }

    /** The scheduler of the calling virtual thread, or null. */
    static CesScheduler homeHere() {
        Carrier here = here();
        return here == null ? null : here.home;
    }

    boolean mayExchange(CesScheduler of) {
        return of == home && next == null;
    }

    /** Runs the thread, which has been given a lock, on this carrier. The caller goes on later, maybe elsewhere. */
    void exchange(Thread owner) {
        inline = true;
        try {
            LockSupport.unpark(owner);
        } finally {
            inline = false; // one that is about to park goes on by itself, where it is
        }
        if (next == null) {
            return;
        }
        try {
            Thread.yield();
        } finally {
            giveNextAway();
        }
    }

    /** After a yield: where it failed, the thread is still mounted, and others must run the next owner. */
    private static void giveNextAway() {
        Carrier here = here();
        if (here != null && here.next != null) {
            Runnable owner = here.next;
            here.next = null;
            here.home.executeSoon(owner);
        }
    }

    /** Before the caller parks for a lock, and after. If it is given the lock meanwhile, it goes on at once. */
    void parksForLock(boolean does) {
        parksForLock = does;
    }

    /** Of a task that is submitted on this carrier: true if it comes next. */
    boolean takes(Runnable task) {
        if (next != null || !(inline || parksForLock && Thread.currentThread() == this)) {
            return false;
        }
        exchanges += inline ? 1 : 0;
        inline = false;
        parksForLock = false;
        next = task;
        return true;
    }

    @Override
    public void run() {
        for (Runnable task; (task = pick()) != null;) {
            parksForLock = false;
            try {
                task.run();
            } catch (Throwable thrown) { // the JDK's own: a virtual thread has a handler for its own
                getUncaughtExceptionHandler().uncaughtException(this, thrown);
            }
        }
    }

    /** Null when the scheduler has ended. */
    private Runnable pick() {
        Runnable owner = next;
        if (owner == null) {
            chain = 0;
            Runnable task = take();
            return task != null ? task : home.search(this);
        }
        next = null;
        if (++chain < CHAIN_MAX) {
            return owner;
        }
        chain = 0;
        Runnable other = home.ready.poll();
        if (other == null) {
            return owner;
        }
        home.executeSoon(owner);
        return other;
    }

    /** One of the scheduler's tasks, or null. */
    Runnable take() {
        Runnable task = othersFirst ? null : home.soon.poll();
        if (task != null) {
            othersFirst = true;
            return task;
        }
        task = home.ready.poll();
        boolean onlyOwners = task == null && othersFirst;
        if (onlyOwners) {
            task = home.soon.poll();
        }
        othersFirst = onlyOwners && task != null;
        return task;
    }

    // Sleep: java.S1 in CesScheduler.

    void announceSleep() {
        asleep = true;
    }

    /** True for one of those who want to wake it. */
    boolean claim() {
        return asleep && ASLEEP.compareAndSet(this, true, false);
    }

    void sleep() {
        while (asleep) {
            LockSupport.park(home);
        }
    }
}
