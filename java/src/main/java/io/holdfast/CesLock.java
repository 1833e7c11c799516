// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

/**
 * A reentrant lock, to use where a {@link java.util.concurrent.locks.ReentrantLock} is used. Among virtual threads of
 * one {@link CesScheduler} a thread that unlocks gives its carrier to the next owner at once, and goes on later, or
 * where another carrier takes it: combine-and-exchange scheduling.
 *
 * <p>Those threads get it first come, first served, but for those that find it free. Other threads, platform or
 * virtual, use it beside them; they are woken to try, as for a ReentrantLock that is not fair, and are given it after a
 * few vain tries.
 *
 * <p>{@code unlock()} is a place where a virtual thread may lose its carrier for a while: a thread that has another
 * contended lock meanwhile keeps it for so long. An unlock that is not the outermost one exchanges nobody.
 */
public final class CesLock implements Lock {
    // The word: the owner's thread id << 2, 0 without one; WAITED; WOKEN.
    //
    //               lock: CAS                        enter: CAS
    //     0 (free) --------------> owner ------------------------------> owner|WAITED --. exchange: the first waiter
    //        A     <--------------       <------------------------------     |     A    | is the owner
    //        |       unlock: CAS            release: nobody waits; the       |     '----'
    //        |                              owner looks again                |
    //        |                                             release: the first waiter is woken to try
    //        |  WOKEN is dropped by the one                                  V
    //        '-- that was woken, when it has acquired <------------ WAITED|WOKEN (free)
    //            or waits again
    //
    // Arrivals are a stack; the owner moves it to the end of its queue, and takes the first from there.
    //
    // java.L1 Exclusion: the thread that moves the owner's part from 0 is inside, or the one that the owner chose.
    // java.L2 While a waiter is linked, WAITED is set, or its thread is about to look at the word. The owner takes
    //     WAITED back only before it looks at the arrivals again.
    // java.L3 A free word that is WAITED is WOKEN: one is about to try, which either has it then and looks for the
    //     others, or waits again, having seen an owner that will. At most one is WOKEN.
    // java.L4 Nobody is chosen and forgotten: java.W2 in Waiter.
    // java.L5 A waiter that leaves has not been chosen, and one that was chosen does not leave: no hand-over and no
    //     signal is lost by a time that is over or an interrupt.
    // Model: verify/java/lock.pml. Tests: CesLockTest, CesConditionTest, CesStressTest.
    private static final long WAITED = 1;
    private static final long WOKEN = 2;
    private static final long BITS = WAITED | WOKEN;
    private static final int POLLS = Integer.getInteger("holdfast.ces.polls", 32); // of a lock nobody waits for
    private static final int TRIES_MAX = 3; // in vain, before the lock is given and not only freed
    private static final VarHandle WORD = Fields.handle(MethodHandles.lookup(), "word", long.class);
    private static final VarHandle ARRIVALS = Fields.handle(MethodHandles.lookup(), "arrivals", Waiter.class);


    private volatile long word;
    private volatile Waiter arrivals;
    // The owner's.
    private int again; // how often it locked beyond the first time
    private long sections; // that have ended
    private final Exploration exploration;
    private final WaiterQueue queue = new WaiterQueue();

    /** A free lock. */
    public CesLock() {
        this(new Exploration());
    }

    CesLock(Exploration exploration) {
        this.exploration = exploration;
    }

    private static long id(Thread thread) {
        return thread.threadId() << 2;
    }

    private static long owner(long seen) {
        return seen & ~BITS;
    }

    @Override
    public void lock() {
        Thread thread = Thread.currentThread();
        long me = id(thread);
        if (!WORD.compareAndSet(this, 0L, me) && !lockAgain(me)) {
            acquire(thread, me, new Wait(false));
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Thread thread = Thread.currentThread();
        long me = id(thread);
        if (!WORD.compareAndSet(this, 0L, me) && !lockAgain(me) && !acquire(thread, me, new Wait(true))) {
            throw new InterruptedException();
        }
    }

    /** Never waits, and overtakes those who do if the lock is free. */
    @Override
    public boolean tryLock() {
        long me = id(Thread.currentThread());
        return tryAcquire(me) || lockAgain(me);
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        long nanos = unit.toNanos(time);
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Thread thread = Thread.currentThread();
        long me = id(thread);
        if (tryAcquire(me) || lockAgain(me)) {
            return true;
        }
        if (nanos <= 0) {
            return false;
        }
        Wait wait = new Wait(true, System.nanoTime() + nanos);
        boolean acquired = acquire(thread, me, wait);
        if (!acquired && wait.interrupted) {
            throw new InterruptedException();
        }
        return acquired;
    }

    /**
     * Releases the lock, once for each time that the caller locked it.
     *
     * @throws IllegalMonitorStateException if the caller does not have it
     */
    @Override
    public void unlock() {
        long me = id(Thread.currentThread());
        long seen = requireOwner(me);
        if (again != 0) {
            again--;
            return;
        }
        sections++;
        if (seen != me || !WORD.compareAndSet(this, me, 0L)) {
            release(me);
        }
    }

    /**
     * A condition of this lock. Its threads are signalled in the order in which they began to wait, and get the lock in
     * that order.
     */
    @Override
    public Condition newCondition() {
        return new CesCondition();
    }

    /**
     * Whether any thread has the lock.
     *
     * @return whether one does
     */
    public boolean isLocked() {
        return owner(word) != 0;
    }

    /**
     * Whether the caller has the lock.
     *
     * @return whether it does
     */
    public boolean isHeldByCurrentThread() {
        return owner(word) == id(Thread.currentThread());
    }

    /**
     * How often the caller has locked it and not unlocked it yet.
     *
     * @return the number, 0 if it does not have the lock
     */
    public int getHoldCount() {
        return isHeldByCurrentThread() ? again + 1 : 0;
    }

    /**
     * Whether threads may wait for the lock: a guess, since they come and go, and true for a while after the last.
     *
     * @return whether some may
     */
    public boolean hasQueuedThreads() {
        return (word & BITS) != 0;
    }

    @Override
    public String toString() {
        long owner = owner(word);
        return super.toString() + (owner == 0 ? "[Unlocked]" : "[Locked by thread #" + (owner >> 2) + "]");
    }

    /** For tests: how many waiters lie on the stack, also of those that left. */
    int linkedArrivals() {
        int linked = 0;
        for (Waiter one = arrivals; one != null; one = one.linkedBelow()) {
            linked++;
        }
        return linked;
    }

    private long requireOwner(long me) {
        long seen = word;
        if (owner(seen) != me) {
            throw new IllegalMonitorStateException("the caller does not have the lock");
        }
        return seen;
    }

    private boolean lockAgain(long me) {
        if (owner(word) != me) {
            return false;
        }
        if (again == Integer.MAX_VALUE) {
            throw new Error("Maximum lock count exceeded"); // as ReentrantLock
        }
        again++;
        return true;
    }

    private boolean tryAcquire(long me) {
        long seen = word;
        return owner(seen) == 0 && WORD.compareAndSet(this, seen, seen | me);
    }

    /** True when the caller has the lock, false when its wait was over first. */
    private boolean acquire(Thread thread, long me, Wait wait) {
        for (int i = 0; i < POLLS && (word & WAITED) == 0; i++) {
            if (tryAcquire(me)) {
                return true;
            }
            Thread.onSpinWait();
        }
        return acquireAsWaiter(thread, me, wait, 0);
    }

    private boolean acquireAsWaiter(Thread thread, long me, Wait wait, int tries) {
        CesScheduler home = Carrier.homeHere();
        for (;; tries++) {
            if (tries > 0 && tryAcquireWoken(me)) {
                break;
            }
            Waiter own = new Waiter(thread, home, Waiter.WAITING, tries);
            if (enter(own, me, tries > 0 ? WOKEN : 0)) {
                break;
            }
            waitLinked(own, me, wait);
            if (owner(word) == me) {
                break;
            }
            if (own.hasLeft()) {
                return false;
            }
        }
        if (wait.interrupted) {
            thread.interrupt();
        }
        return true;
    }

    private boolean tryAcquireWoken(long me) {
        for (int i = 0; i <= POLLS; i++) {
            long seen = word;
            if (owner(seen) == 0 && WORD.compareAndSet(this, seen, seen & ~WOKEN | me)) {
                return true;
            }
            Thread.onSpinWait();
        }
        return false;
    }

    /** Links the waiter, and takes the bit from the word. True when the caller has the lock and is no waiter. */
    private boolean enter(Waiter own, long me, long bit) {
        Waiter top;
        do {
            top = arrivals;
            own.setBelow(top != null && top.hasLeft() ? top.below() : top);
        } while (!ARRIVALS.compareAndSet(this, top, own));
        for (;;) {
            long seen = word;
            if (owner(seen) == 0) {
                if (WORD.compareAndSet(this, seen, (seen | WAITED) & ~bit | me)) {
                    if (!own.advance(Waiter.WAITING, Waiter.LEFT)) {
                        dropWoken(); // chosen since it was linked: it is the one that was woken
                    }
                    return true;
                }
            } else {
                long marked = (seen | WAITED) & ~bit;
                if (seen == marked || WORD.compareAndSet(this, seen, marked)) {
                    return false;
                }
            }
        }
    }

    /** Until the waiter has the lock, was woken to try, or has left. */
    private void waitLinked(Waiter own, long me, Wait wait) {
        while (owner(word) != me && own.state != Waiter.WOKEN) {
            if (wait.isOver() && own.advance(Waiter.WAITING, Waiter.LEFT)) {
                forgetThoseThatLeft();
                return;
            }
            park(own, wait, Waiter.WAITING);
        }
    }

    /** With a deadline while the waiter is in a state that it can leave. */
    private void park(Waiter own, Wait wait, int left) {
        Carrier before = own.home == null ? null : Carrier.here();
        if (before != null) {
            before.parksForLock(true);
        }
        if (wait.timed && own.state == left) {
            LockSupport.parkNanos(this, wait.deadline - System.nanoTime());
        } else {
            LockSupport.park(this);
        }
        Carrier after = own.home == null ? null : Carrier.here();
        if (after != null) {
            after.parksForLock(false);
        }
    }

    /** Waiters whose time is over, again and again, while an owner keeps the lock, must not fill the memory. */
    private void forgetThoseThatLeft() {
        for (Waiter one = arrivals; one != null;) {
            one = one.below();
        }
    }

    // Below: for the owner.

    /** The caller is no owner after this, and may go on on another carrier. */
    private void release(long me) {
        Carrier here = Carrier.here();
        boolean exchanges = here != null && exploration.exchanges(sections);
        for (;;) {
            Waiter next = firstWaiter();
            long seen = word;
            if (next == null) {
                if ((seen & WAITED) != 0) {
                    WORD.compareAndSet(this, seen, seen & ~WAITED); // and look again: java.L2
                } else if (WORD.compareAndSet(this, seen, seen & WOKEN)) {
                    return;
                }
            } else if ((exchanges || next.tries >= TRIES_MAX) && mayExchange(here, next)) {
                if (choose(next)) {
                    grant(next);
                    here.exchange(next.thread);
                    return;
                }
            } else if ((seen & WOKEN) != 0) {
                if (WORD.compareAndSet(this, seen, WAITED | WOKEN)) {
                    return;
                }
            } else if (choose(next)) {
                if (next.tries >= TRIES_MAX) {
                    grant(next);
                } else {
                    word = WAITED | WOKEN;
                    next.state = Waiter.WOKEN;
                }
                LockSupport.unpark(next.thread);
                return;
            }
        }
    }

    private static boolean mayExchange(Carrier here, Waiter next) {
        return here != null && here.mayExchange(next.home);
    }

    private void grant(Waiter next) {
        long seen;
        do {
            seen = word;
        } while (!WORD.compareAndSet(this, seen, id(next.thread) | WAITED | seen & WOKEN));
    }

    private void dropWoken() {
        long seen;
        do {
            seen = word;
        } while (!WORD.compareAndSet(this, seen, seen & ~WOKEN));
    }

    private Waiter firstWaiter() {
        for (;;) {
            if (queue.first() == null) {
                takeArrivals();
            }
            Waiter first = queue.first();
            if (first == null || !first.hasLeft()) {
                return first;
            }
            queue.removeFirst();
        }
    }

    /** Takes it, the first, out of the queue; false if it has left. */
    private boolean choose(Waiter next) {
        queue.removeFirst();
        return next.advance(Waiter.WAITING, Waiter.CHOSEN);
    }

    private void takeArrivals() {
        Waiter oldest = null;
        Waiter youngest = arrivals == null ? null : (Waiter) ARRIVALS.getAndSet(this, null);
        for (Waiter one = youngest; one != null;) {
            Waiter below = one.takeBelow();
            one.next = oldest;
            oldest = one;
            one = below;
        }
        if (oldest != null) {
            queue.append(oldest, youngest);
        }
    }

    /** A waiter that was signalled. */
    private void enqueue(Waiter one) {
        takeArrivals();
        queue.append(one);
        long seen;
        do {
            seen = word;
        } while ((seen & WAITED) == 0 && !WORD.compareAndSet(this, seen, seen | WAITED));
    }

    /** Until when a thread waits, and whether it was interrupted meanwhile. */
    private static final class Wait {
        final boolean interruptible;
        final boolean timed;
        final long deadline;
        boolean interrupted;

        Wait(boolean interruptible) {
            this.interruptible = interruptible;
            this.timed = false;
            this.deadline = 0;
        }

        Wait(boolean interruptible, long deadline) {
            this.interruptible = interruptible;
            this.timed = true;
            this.deadline = deadline;
        }

        /** Takes an interrupt, which its thread is told of again if it did not end the wait. */
        boolean isOver() {
            interrupted |= Thread.interrupted();
            return interruptible && interrupted || timed && deadline - System.nanoTime() <= 0;
        }
    }

    private final class CesCondition implements Condition {
        // The waiters, LISTED but for those that are about to leave: the owner's.
        private final WaiterQueue listed = new WaiterQueue();

        @Override
        public void await() throws InterruptedException {
            awaitSignal(new Wait(true));
        }

        @Override
        public void awaitUninterruptibly() {
            awaitSignalOrTime(new Wait(false));
        }

        @Override
        public long awaitNanos(long nanos) throws InterruptedException {
            long deadline = System.nanoTime() + nanos;
            awaitSignal(new Wait(true, deadline));
            return deadline - System.nanoTime();
        }

        @Override
        public boolean await(long time, TimeUnit unit) throws InterruptedException {
            return awaitSignal(new Wait(true, System.nanoTime() + unit.toNanos(time)));
        }

        @Override
        public boolean awaitUntil(Date deadline) throws InterruptedException {
            long millis = deadline.getTime() - System.currentTimeMillis();
            return awaitSignal(new Wait(true, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis)));
        }

        @Override
        public void signal() {
            requireOwner(id(Thread.currentThread()));
            while (listed.first() != null && !signalFirst()) {
                // that one has left
            }
        }

        @Override
        public void signalAll() {
            requireOwner(id(Thread.currentThread()));
            while (listed.first() != null) {
                signalFirst();
            }
        }

        /** False if it has left: java.L5. */
        private boolean signalFirst() {
            Waiter one = listed.removeFirst();
            if (!one.advance(Waiter.LISTED, Waiter.WAITING)) {
                return false;
            }
            enqueue(one);
            return true;
        }

        /** True when signalled, false when the time was over first. */
        private boolean awaitSignal(Wait wait) throws InterruptedException {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            boolean signalled = awaitSignalOrTime(wait);
            if (!signalled && wait.interrupted) {
                throw new InterruptedException();
            }
            return signalled;
        }

        /** False also when interrupted: then wait.interrupted, and its thread does not know of it. */
        private boolean awaitSignalOrTime(Wait wait) {
            Thread thread = Thread.currentThread();
            long me = id(thread);
            requireOwner(me);
            Waiter own = new Waiter(thread, Carrier.homeHere(), Waiter.LISTED, 0);
            Wait untilOwner = new Wait(false);
            listed.append(own);
            int locked = again;
            again = 0;
            release(me);
            boolean signalled = true;
            while (signalled && own.state == Waiter.LISTED) {
                if (wait.isOver() && own.advance(Waiter.LISTED, Waiter.LEFT)) {
                    signalled = false;
                } else {
                    park(own, wait, Waiter.LISTED);
                }
            }
            if (!signalled) {
                acquire(thread, me, untilOwner);
                listed.remove(own); // if a signal has not taken it out
            } else {
                waitLinked(own, me, untilOwner);
                if (owner(word) != me) {
                    acquireAsWaiter(thread, me, untilOwner, 1);
                }
            }
            again = locked;
            boolean ends = !signalled && wait.interruptible && wait.interrupted;
            if (!ends && (wait.interrupted || untilOwner.interrupted)) {
                thread.interrupt();
            }
            return signalled;
        }
    }
}
