// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(Cast.FAR_AWAY_S)
class CesSchedulerTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void allThreadsEnd(int carriers) throws Exception {
        AtomicInteger ended = new AtomicInteger();
        try (var scheduler = new CesScheduler(carriers)) {
            for (int i = 0; i < 2000; i++) {
                scheduler.start(() -> {
                    Thread.yield();
                    LockSupport.parkNanos(1000);
                    ended.incrementAndGet();
                });
            }
        }
        assertEquals(2000, ended.get());
    }

    @Test
    void needsACarrier() {
        assertThrows(IllegalArgumentException.class, () -> new CesScheduler(0));
        assertThrows(NullPointerException.class, () -> new CesScheduler(1).newThread(null));
    }

    /** All on one carrier: the order says who ran when. */
    @Test
    void theNextOwnerRunsFirstAndTheUnlockerLast() throws Exception {
        List<String> order = new ArrayList<>();
        CesLock lock = new CesLock(new Exploration(true));
        long exchanges;
        try (var scheduler = new CesScheduler(1)) {
            var owner = new CompletableFuture<Thread>();
            scheduler.start(() -> {
                lock.lock();
                owner.complete(Thread.currentThread());
                LockSupport.park();
                order.add("unlocks");
                lock.unlock();
                order.add("unlocked");
            });
            Thread unlocker = owner.get();
            Thread waiter = scheduler.start(() -> {
                lock.lock();
                order.add("owner");
                lock.unlock();
            });
            Cast.until(() -> waiter.getState() == Thread.State.WAITING);
            Cast.until(() -> unlocker.getState() == Thread.State.WAITING);
            scheduler.start(() -> {
                LockSupport.unpark(unlocker);
                scheduler.start(() -> order.add("other"));
            });
            unlocker.join();
            exchanges = scheduler.exchanges();
        }
        assertEquals(List.of("unlocks", "owner", "other", "unlocked"), order);
        assertEquals(1, exchanges);
    }

    /** java.C2: with one carrier, and more waiters than a chain is long, another thread comes in between. */
    @Test
    void aChainEnds() throws Exception {
        CesLock lock = new CesLock(new Exploration(true));
        int waiters = 3 * Carrier.CHAIN_MAX;
        int[] owners = {0};
        int[] ownersBefore = {-1};
        lock.lock();
        try (var scheduler = new CesScheduler(1)) {
            List<Thread> threads = new ArrayList<>();
            Thread other = scheduler.newThread(() -> ownersBefore[0] = owners[0]);
            for (int i = 0; i < waiters; i++) {
                threads.add(scheduler.start(() -> {
                    lock.lock();
                    if (owners[0]++ == 0) {
                        other.start();
                    }
                    lock.unlock();
                }));
            }
            for (Thread thread : threads) {
                Cast.until(() -> thread.getState() == Thread.State.WAITING);
            }
            lock.unlock();
        }
        assertEquals(waiters, owners[0]);
        assertTrue(ownersBefore[0] > 0 && ownersBefore[0] <= Carrier.CHAIN_MAX + 1, "before: " + ownersBefore[0]);
    }

    /** On Java 21 to 23 a thread inside of `synchronized` can't leave its carrier, and the next owner must not wait. */
    @Test
    void anUnlockerThatIsPinnedHasTheNextOwnerRunElsewhere() throws Exception {
        CesLock lock = new CesLock(new Exploration(true));
        try (var scheduler = new CesScheduler(2)) {
            CompletableFuture<Thread> owns = new CompletableFuture<>();
            CompletableFuture<Void> passed = new CompletableFuture<>();
            AtomicInteger go = new AtomicInteger();
            Thread unlocker = scheduler.start(() -> pinned(() -> {
                lock.lock();
                owns.complete(Thread.currentThread());
                Cast.until(() -> go.get() == 1);
                lock.unlock();
                Cast.until(passed::isDone); // on its carrier
            }));
            owns.get();
            Thread waiter = scheduler.start(() -> {
                lock.lock();
                passed.complete(null);
                lock.unlock();
            });
            Cast.until(() -> waiter.getState() == Thread.State.WAITING);
            go.set(1);
            passed.get(Cast.FAR_AWAY_S, TimeUnit.SECONDS);
            unlocker.join();
        }
    }

    /** With a native frame below it a thread is pinned in every version: a comparator called by a class initialiser. */
    private static void pinned(Runnable part) {
        Pinning.part = part;
        Pinning.Initialised.touch();
    }

    private static final class Pinning {
        static Runnable part;

        private static final class Initialised {
            static {
                part.run();
            }

            static void touch() {
                // to be initialised
            }
        }
    }

    @Test
    void threadsOfThreadsAreOfTheSameScheduler() throws Exception {
        try (var scheduler = new CesScheduler(1)) {
            CompletableFuture<CesScheduler> home = new CompletableFuture<>();
            scheduler.start(() -> Thread.startVirtualThread(() -> home.complete(Carrier.homeHere())));
            assertEquals(scheduler, home.get());
        }
    }

    @Test
    void anExecutorOfItRunsTasks() throws Exception {
        try (var scheduler = new CesScheduler(2); var executor = scheduler.newThreadPerTaskExecutor()) {
            assertEquals(scheduler, executor.submit(Carrier::homeHere).get());
        }
    }

    @Test
    void anUncaughtExceptionEndsItsThreadAlone() throws Exception {
        try (var scheduler = new CesScheduler(1)) {
            CompletableFuture<Throwable> caught = new CompletableFuture<>();
            Thread thread = scheduler.newThread(() -> {
                throw new IllegalStateException("expected");
            });
            thread.setUncaughtExceptionHandler((where, thrown) -> caught.complete(thrown));
            thread.start();
            assertEquals("expected", caught.get().getMessage());
            CompletableFuture<Void> goesOn = new CompletableFuture<>();
            scheduler.start(() -> goesOn.complete(null));
            goesOn.get();
        }
    }

    @Test
    void closeWaitsForThreadsThatWait() throws Exception {
        CesLock lock = new CesLock(new Exploration(true));
        var scheduler = new CesScheduler(2);
        AtomicInteger ended = new AtomicInteger();
        lock.lock();
        for (int i = 0; i < 10; i++) {
            scheduler.start(() -> {
                lock.lock();
                ended.incrementAndGet();
                lock.unlock();
            });
        }
        Thread closer = Thread.ofPlatform().start(scheduler::close);
        Cast.until(() -> closer.getState() == Thread.State.TIMED_WAITING);
        assertThrows(RejectedExecutionException.class, () -> {
            Cast.until(() -> !accepts(scheduler));
            scheduler.start(() -> { });
        });
        assertEquals(0, ended.get());
        lock.unlock();
        closer.join();
        assertEquals(10, ended.get());
        scheduler.close(); // once more does nothing
    }

    private static boolean accepts(CesScheduler scheduler) {
        try {
            scheduler.newThread(() -> { });
            return true;
        } catch (RejectedExecutionException closed) {
            return false;
        }
    }

    @Test
    void aThreadThatOthersStartedGoesOnAfterClose() throws Exception {
        CompletableFuture<Thread> waits = new CompletableFuture<>();
        CompletableFuture<Void> goesOn = new CompletableFuture<>();
        try (var scheduler = new CesScheduler(2)) {
            scheduler.start(() -> Thread.startVirtualThread(() -> {
                waits.complete(Thread.currentThread());
                LockSupport.park();
                goesOn.complete(null);
            }));
            Thread thread = waits.get();
            Cast.until(() -> thread.getState() == Thread.State.WAITING);
        }
        LockSupport.unpark(waits.get());
        goesOn.get();
    }

    @Test
    void aThreadOfItMayNotCloseIt() throws Exception {
        try (var scheduler = new CesScheduler(1)) {
            CompletableFuture<Throwable> thrown = new CompletableFuture<>();
            scheduler.start(() -> thrown.complete(assertThrows(IllegalStateException.class, scheduler::close)));
            thrown.get();
        }
    }

    /** Carriers that sleep are woken by each kind of task: java.S1. */
    @Test
    void sleepingCarriersAreWoken() throws Exception {
        try (var scheduler = new CesScheduler(2)) {
            for (int i = 0; i < 2000; i++) {
                CompletableFuture<Void> done = new CompletableFuture<>();
                if (i % 100 == 0) {
                    Thread.sleep(1);
                }
                Thread thread = scheduler.start(() -> {
                    LockSupport.park();
                    done.complete(null);
                });
                LockSupport.unpark(thread);
                done.get();
            }
        }
    }

    /** Waiting for the lock, or unlocking it, never keeps a carrier. */
    @Test
    void nothingIsPinned() throws Exception {
        Path file = Files.createTempFile("holdfast", ".jfr");
        try (Recording recording = new Recording()) {
            recording.enable("jdk.VirtualThreadPinned").withoutThreshold();
            recording.start();
            CesLock lock = new CesLock(new Exploration(true));
            var condition = lock.newCondition();
            try (var scheduler = new CesScheduler(2)) {
                for (int i = 0; i < 100; i++) {
                    scheduler.start(() -> {
                        for (int round = 0; round < 100; round++) {
                            lock.lock();
                            try {
                                Thread.yield();
                                if (round % 8 == 0) {
                                    condition.awaitNanos(1000);
                                }
                            } catch (InterruptedException impossible) {
                                throw new AssertionError(impossible);
                            } finally {
                                lock.unlock();
                            }
                        }
                    });
                }
            }
            recording.stop();
            recording.dump(file);
            var pinned = RecordingFile.readAllEvents(file).stream()
                    .filter(event -> String.valueOf(event.getStackTrace()).contains("CesLock")).toList();
            assertTrue(pinned.isEmpty(), pinned.toString());
        } finally {
            Files.delete(file);
        }
    }

    @Test
    void itIsSupportedHere() {
        assertTrue(CesScheduler.isSupported());
        assertFalse(Thread.currentThread().isVirtual());
    }
}
