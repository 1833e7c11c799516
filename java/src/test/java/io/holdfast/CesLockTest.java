// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import static java.util.concurrent.TimeUnit.HOURS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each function of the lock: what java.util.concurrent's own tests of ReentrantLock look at. */
class CesLockTest {
    private final CesLock lock = new CesLock();

    /** Runs the part on a thread of the kind. */
    private static void on(Kind kind, Part part) throws Exception {
        try (Cast cast = new Cast(kind)) {
            cast.start(() -> {
                part.run();
                return null;
            }).end();
        }
    }

    private interface Part {
        void run() throws Exception;
    }

    @ParameterizedTest
    @EnumSource
    void lockIsHeldUntilUnlock(Kind kind) throws Exception {
        on(kind, () -> {
            assertFalse(lock.isLocked());
            lock.lock();
            assertTrue(lock.isLocked());
            assertTrue(lock.isHeldByCurrentThread());
            assertEquals(1, lock.getHoldCount());
            lock.unlock();
            assertFalse(lock.isLocked());
            assertFalse(lock.isHeldByCurrentThread());
            assertEquals(0, lock.getHoldCount());
        });
    }

    @ParameterizedTest
    @EnumSource
    void eachWayToLockIsReentrant(Kind kind) throws Exception {
        on(kind, () -> {
            lock.lock();
            lock.lock();
            lock.lockInterruptibly();
            assertTrue(lock.tryLock());
            assertTrue(lock.tryLock(0, MILLISECONDS));
            assertTrue(lock.tryLock(1, HOURS));
            for (int count = 6; count > 0; count--) {
                assertEquals(count, lock.getHoldCount());
                assertTrue(lock.isLocked());
                lock.unlock();
            }
            assertFalse(lock.isLocked());
            assertThrows(IllegalMonitorStateException.class, lock::unlock);
        });
    }

    @ParameterizedTest
    @EnumSource
    void unlockOfAFreeLockThrows(Kind kind) throws Exception {
        on(kind, () -> {
            assertThrows(IllegalMonitorStateException.class, lock::unlock);
            lock.lock();
            lock.unlock();
            assertThrows(IllegalMonitorStateException.class, lock::unlock);
        });
    }

    @ParameterizedTest
    @EnumSource
    void unlockOfAnothersLockThrows(Kind kind) throws Exception {
        lock.lock();
        on(kind, () -> assertThrows(IllegalMonitorStateException.class, lock::unlock));
        try (Cast cast = new Cast(kind)) { // and with one that waits
            var waiter = cast.start(this::lockAndUnlock).untilWaits();
            cast.start(() -> assertThrows(IllegalMonitorStateException.class, lock::unlock)).end();
            assertFalse(waiter.result().isDone());
            lock.unlock();
        }
    }

    private Void lockAndUnlock() {
        lock.lock();
        lock.unlock();
        return null;
    }

    @ParameterizedTest
    @EnumSource
    void tryLockFailsWhileAnotherHasIt(Kind kind) throws Exception {
        lock.lock();
        on(kind, () -> {
            assertFalse(lock.tryLock());
            assertFalse(lock.tryLock(0, MILLISECONDS));
            assertFalse(lock.tryLock(-1, HOURS));
            assertFalse(lock.tryLock(1, MILLISECONDS));
            assertFalse(lock.isHeldByCurrentThread());
            assertEquals(0, lock.getHoldCount());
        });
        lock.unlock();
        on(kind, () -> {
            assertTrue(lock.tryLock());
            lock.unlock();
            assertTrue(lock.tryLock(1, MILLISECONDS));
            lock.unlock();
        });
    }

    @ParameterizedTest
    @EnumSource
    void waitersGetItInTheirOrder(Kind kind) throws Exception {
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        List<Integer> expected = new ArrayList<>();
        try (Cast cast = new Cast(kind)) {
            var holds = new AtomicBoolean(true);
            var holder = cast.start(() -> {
                lock.lock();
                Cast.until(() -> !holds.get());
                lock.unlock();
                return null;
            });
            Cast.until(lock::isLocked);
            for (int i = 0; i < 20; i++) {
                int me = i;
                expected.add(me);
                cast.start(() -> {
                    lock.lock();
                    order.add(me);
                    lock.unlock();
                    return null;
                }).untilWaits();
                assertTrue(lock.hasQueuedThreads());
            }
            holds.set(false);
            holder.end();
        }
        assertEquals(expected, order);
        lockAndUnlock(); // takes back the mark of the last
        assertFalse(lock.hasQueuedThreads());
    }

    @ParameterizedTest
    @EnumSource
    void aWaiterIsGivenAllThatTheOwnerDid(Kind kind) throws Exception {
        int[] plain = {0};
        try (Cast cast = new Cast(kind)) {
            for (int i = 0; i < 50; i++) {
                cast.start(() -> {
                    for (int round = 0; round < 200; round++) {
                        lock.lock();
                        try {
                            plain[0]++;
                            if (round % 16 == 0) {
                                Thread.yield();
                            }
                        } finally {
                            lock.unlock();
                        }
                    }
                    return null;
                });
            }
        }
        assertEquals(50 * 200, plain[0]);
    }

    @ParameterizedTest
    @EnumSource
    void lockInterruptiblyThrowsAtOnceIfInterrupted(Kind kind) throws Exception {
        on(kind, () -> {
            Thread.currentThread().interrupt();
            assertThrows(InterruptedException.class, lock::lockInterruptibly);
            assertFalse(Thread.interrupted());
            Thread.currentThread().interrupt();
            assertThrows(InterruptedException.class, () -> lock.tryLock(1, HOURS));
            assertFalse(Thread.interrupted());
            assertFalse(lock.isLocked());
        });
    }

    @ParameterizedTest
    @EnumSource
    void aWaiterIsInterrupted(Kind kind) throws Exception {
        lock.lock();
        try (Cast cast = new Cast(kind)) {
            var interruptible = cast.start(() -> {
                assertThrows(InterruptedException.class, lock::lockInterruptibly);
                return Thread.currentThread().isInterrupted();
            }).untilWaits();
            var timed = cast.start(() -> {
                assertThrows(InterruptedException.class, () -> lock.tryLock(1, HOURS));
                return Thread.currentThread().isInterrupted();
            }).untilWaits();
            var behind = cast.start(this::lockAndUnlock).untilWaits();
            interruptible.thread().interrupt();
            assertFalse(interruptible.end());
            timed.thread().interrupt();
            assertFalse(timed.end());
            assertFalse(behind.result().isDone());
            lock.unlock();
            behind.end();
        }
    }

    @ParameterizedTest
    @EnumSource
    void lockIsNotInterruptedButSaysSo(Kind kind) throws Exception {
        lock.lock();
        try (Cast cast = new Cast(kind)) {
            var waiter = cast.start(() -> {
                lock.lock();
                boolean told = Thread.interrupted();
                lock.unlock();
                return told;
            }).untilWaits();
            waiter.thread().interrupt();
            waiter.untilWaits();
            assertFalse(waiter.result().isDone());
            lock.unlock();
            assertTrue(waiter.end());
        }
    }

    @ParameterizedTest
    @EnumSource
    void aTimeThatIsOverEndsOnlyThatWait(Kind kind) throws Exception {
        lock.lock();
        try (Cast cast = new Cast(kind)) {
            var before = cast.start(this::lockAndUnlock).untilWaits();
            var timed = cast.start(() -> lock.tryLock(5, MILLISECONDS));
            var behind = cast.start(this::lockAndUnlock).untilWaits();
            assertFalse(timed.end());
            lock.unlock();
            before.end();
            behind.end();
        }
        assertFalse(lock.isLocked());
    }

    @ParameterizedTest
    @EnumSource
    void aTimedWaiterGetsIt(Kind kind) throws Exception {
        lock.lock();
        try (Cast cast = new Cast(kind)) {
            var timed = cast.start(() -> {
                boolean acquired = lock.tryLock(1, HOURS);
                boolean held = lock.isHeldByCurrentThread();
                lock.unlock();
                return acquired && held;
            }).untilWaits();
            lock.unlock();
            assertTrue(timed.end());
        }
    }

    /** They would fill the memory while one has the lock for long: their number is that of the threads. */
    @ParameterizedTest
    @EnumSource
    void thoseThatGaveUpAreForgotten(Kind kind) throws Exception {
        lock.lock();
        try (Cast cast = new Cast(kind)) {
            var first = cast.start(this::lockAndUnlock).untilWaits();
            List<Cast.Actor<Boolean>> timed = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                timed.add(cast.start(() -> {
                    boolean any = false;
                    for (int round = 0; round < 100; round++) {
                        any |= lock.tryLock(50_000 + round, java.util.concurrent.TimeUnit.NANOSECONDS);
                    }
                    return any;
                }));
            }
            for (var one : timed) {
                assertFalse(one.end());
            }
            assertTrue(lock.linkedArrivals() <= 8, "linked: " + lock.linkedArrivals());
            lock.unlock();
            first.end();
        }
    }

    @ParameterizedTest
    @EnumSource
    void anExceptionInsideLeavesItUsable(Kind kind) throws Exception {
        try (Cast cast = new Cast(kind)) {
            for (int i = 0; i < 20; i++) {
                cast.start(() -> assertThrows(IllegalStateException.class, () -> {
                    lock.lock();
                    try {
                        Thread.yield();
                        throw new IllegalStateException();
                    } finally {
                        lock.unlock();
                    }
                }));
            }
        }
        assertFalse(lock.isLocked());
    }

    @ParameterizedTest
    @EnumSource
    void itSaysWhoHasIt(Kind kind) throws Exception {
        assertTrue(lock.toString().endsWith("[Unlocked]"), lock.toString());
        on(kind, () -> {
            lock.lock();
            assertTrue(lock.toString().endsWith("[Locked by thread #" + Thread.currentThread().threadId() + "]"));
            lock.unlock();
        });
    }
}
