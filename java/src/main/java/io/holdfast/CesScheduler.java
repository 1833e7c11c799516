// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * A scheduler of virtual threads under which a {@link CesLock} gives the unlocker's carrier to the next owner.
 *
 * <p>{@snippet :
 * try (var scheduler = new CesScheduler(); var threads = scheduler.newThreadPerTaskExecutor()) {
 *     threads.submit(() -> work());
 * }
 * }
 *
 * <p>Virtual threads that its threads start, by {@link Thread#ofVirtual} or an executor, are of this scheduler too. Its
 * threads may use whatever they like; those that block a carrier (files, native code, and on Java 21 to 23 waiting in
 * {@code synchronized}) are not made up for by more carriers.
 *
 * <p>It needs {@code --add-opens java.base/java.lang=ALL-UNNAMED}, or {@code =io.holdfast} if it is on the module path:
 * the JDK has no public way to it. Without, the constructor throws. With {@code -Dholdfast.ces.optional=true} it makes
 * virtual threads of the JDK's scheduler then, for which a lock works as
 * {@link java.util.concurrent.locks.ReentrantLock} does.
 */
public final class CesScheduler implements ThreadFactory, AutoCloseable {
    // java.S1 No task is left where nobody looks: who adds one looks for a carrier that searches or sleeps, after it;
    //     a carrier stops searching, and says that it sleeps, before it looks for the last time.
    // java.S2 After a task of `soon` a carrier looks at `ready` first: neither starves.
    private static final int SEARCH_NS = Integer.getInteger("holdfast.ces.searchNanos", 20_000);
    private static final AtomicInteger SCHEDULERS = new AtomicInteger();

    private final String name = "ces-" + SCHEDULERS.incrementAndGet();
    private final Executor executor = this::execute;
    final Queue<Runnable> ready = new ConcurrentLinkedQueue<>();
    final Queue<Runnable> soon = new ConcurrentLinkedQueue<>(); // owners of a lock, for whom others wait
    private final AtomicReferenceArray<Carrier> carriers;
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicInteger searching = new AtomicInteger();
    private final AtomicInteger sleeping = new AtomicInteger();
    private final AtomicInteger unfinished = new AtomicInteger();
    private final LongAdder exchangesOfEnded = new LongAdder();
    private final Set<Thread> plain = ConcurrentHashMap.newKeySet(); // threads of the JDK's scheduler
    private final int searchersMax;
    private volatile boolean closed;
    private volatile boolean ended;

    /** One with a carrier for each processor. */
    public CesScheduler() {
        this(Runtime.getRuntime().availableProcessors());
    }

    /**
     * One with so many carriers.
     *
     * @param carriers how many threads may run at a time, at least 1
     * @throws UnsupportedOperationException if the JDK's virtual threads can't be reached; says what would help
     */
    public CesScheduler(int carriers) {
        if (carriers < 1) {
            throw new IllegalArgumentException("a scheduler needs a carrier: " + carriers);
        }
        if (JdkThreads.missing() != null && !Boolean.getBoolean("holdfast.ces.optional")) {
            throw new UnsupportedOperationException(JdkThreads.missing());
        }
        this.carriers = new AtomicReferenceArray<>(carriers);
        this.searchersMax = Math.max(1, Math.min(carriers, Runtime.getRuntime().availableProcessors()) / 2);
    }

    /**
     * Whether locks exchange threads here: false if the JDK's virtual threads can't be reached.
     *
     * @return whether they do
     */
    public static boolean isSupported() {
        return JdkThreads.missing() == null;
    }

    /**
     * A virtual thread of this scheduler, not yet started.
     *
     * @throws RejectedExecutionException if the scheduler is closed
     */
    @Override
    public Thread newThread(Runnable task) {
        Objects.requireNonNull(task);
        if (closed) {
            throw new RejectedExecutionException("the scheduler is closed");
        }
        Runnable counted = () -> {
            unfinished.incrementAndGet();
            try {
                task.run();
            } finally {
                unfinished.decrementAndGet();
            }
        };
        if (isSupported()) {
            return JdkThreads.newVirtualThread(executor, counted);
        }
        Thread thread = Thread.ofVirtual().unstarted(() -> {
            try {
                task.run();
            } finally {
                plain.remove(Thread.currentThread());
            }
        });
        plain.add(thread);
        return thread;
    }

    /**
     * Starts a virtual thread of this scheduler.
     *
     * @param task what it does
     * @return the thread
     * @throws RejectedExecutionException if the scheduler is closed
     */
    public Thread start(Runnable task) {
        Thread thread = newThread(task);
        thread.start();
        return thread;
    }

    /**
     * An executor that starts a virtual thread of this scheduler for each task.
     *
     * @return the executor; to be closed before this scheduler
     */
    public ExecutorService newThreadPerTaskExecutor() {
        return Executors.newThreadPerTaskExecutor(this);
    }

    /**
     * How often a thread that unlocked gave its carrier to the next owner. Not exact while threads run.
     *
     * @return the number since the scheduler was made
     */
    public long exchanges() {
        long sum = exchangesOfEnded.sum();
        for (int i = 0; i < carriers.length(); i++) {
            Carrier carrier = carriers.get(i);
            sum += carrier == null ? 0 : carrier.exchanges;
        }
        return sum;
    }

    /**
     * Waits until all threads that were started have ended, and ends the carriers. No more threads can be made. Virtual
     * threads that others started, and that wait, go on when they are woken.
     *
     * @throws IllegalStateException if a thread of this scheduler calls it: it would wait for itself
     */
    @Override
    public void close() {
        Carrier here = Carrier.here();
        if (here != null && here.home == this) {
            throw new IllegalStateException("a thread of the scheduler would wait for itself");
        }
        closed = true;
        boolean interrupted = false;
        while (!isIdle()) {
            LockSupport.parkNanos(this, 1_000_000);
            interrupted |= Thread.interrupted();
        }
        ended = true;
        while (wakeSleeper()) {
            // each finds that the scheduler has ended
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isIdle() {
        return unfinished.get() == 0 && !hasTasks() && sleeping.get() == running.get() && unfinished.get() == 0
                && plain.stream().noneMatch(Thread::isAlive);
    }

    private boolean hasTasks() {
        return !soon.isEmpty() || !ready.isEmpty();
    }

    /** What the JDK calls when a thread can go on. */
    private void execute(Runnable task) {
        Carrier here = Carrier.here();
        if (here != null && here.home == this && here.takes(task)) {
            return;
        }
        ready.add(task);
        wake();
    }

    /** Of a thread that has a lock: before others. */
    void executeSoon(Runnable task) {
        soon.add(task);
        wake();
    }

    /** java.S1: after a task was added. */
    private void wake() {
        if (searching.get() == 0 && !wakeSleeper()) {
            startCarrier();
        }
    }

    private boolean wakeSleeper() {
        if (sleeping.get() == 0) {
            return false;
        }
        for (int i = 0; i < carriers.length(); i++) {
            Carrier carrier = carriers.get(i);
            if (carrier != null && carrier.claim()) {
                searching.incrementAndGet(); // it does so from now on
                sleeping.decrementAndGet();
                LockSupport.unpark(carrier);
                return true;
            }
        }
        return false;
    }

    private void startCarrier() {
        for (int i = 0; i < carriers.length() && running.get() < carriers.length(); i++) {
            if (carriers.get(i) != null) {
                continue;
            }
            Carrier carrier = new Carrier(this, i, name + "-" + i);
            if (!carriers.compareAndSet(i, null, carrier)) {
                continue;
            }
            running.incrementAndGet();
            try {
                carrier.start();
            } catch (Throwable refused) {
                carriers.set(i, null);
                if (running.decrementAndGet() == 0) {
                    throw refused;
                }
            }
            return;
        }
    }

    /** A task for a carrier that found none, or null when the scheduler has ended and the carrier must, too. */
    Runnable search(Carrier carrier) {
        boolean searches = startSearching();
        for (;;) {
            Runnable task = searches ? poll(carrier) : null;
            if (searches && stopSearching() && task != null && hasTasks()) {
                wake(); // for those who saw that this one searched
            }
            if (task != null) {
                return task;
            }
            carrier.announceSleep();
            sleeping.incrementAndGet();
            task = carrier.take();
            if (task == null && !ended) {
                carrier.sleep();
                searches = true; // said by its waker
                continue;
            }
            if (carrier.claim()) {
                sleeping.decrementAndGet();
            } else if (stopSearching() && task != null && hasTasks()) {
                wake();
            }
            if (task == null) {
                leave(carrier);
            }
            return task;
        }
    }

    private boolean startSearching() {
        int seen = searching.get();
        return seen < searchersMax && searching.compareAndSet(seen, seen + 1);
    }

    /** True for the last one. */
    private boolean stopSearching() {
        return searching.decrementAndGet() == 0;
    }

    private Runnable poll(Carrier carrier) {
        long began = System.nanoTime();
        do {
            for (int i = 0; i < 16; i++) {
                Runnable task = carrier.take();
                if (task != null) {
                    return task;
                }
                Thread.onSpinWait();
            }
        } while (System.nanoTime() - began < SEARCH_NS);
        return null;
    }

    private void leave(Carrier carrier) {
        exchangesOfEnded.add(carrier.exchanges);
        carriers.set(carrier.slot, null);
        running.decrementAndGet();
        if (hasTasks()) { // of a thread that others started, and that was woken now
            wake();
        }
    }
}
