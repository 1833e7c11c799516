// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import static java.util.concurrent.TimeUnit.HOURS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each function of a condition: what java.util.concurrent's own tests of ReentrantLock's conditions look at. */
class CesConditionTest {
    private final CesLock lock = new CesLock();
    private final Condition condition = lock.newCondition();
    private int waiting; // under the lock

    private interface Wait<T> {
        T run() throws Exception;
    }

    /** One that waits as told, with the lock, which it has twice, and must have after it. */
    private <T> Cast.Actor<T> waiter(Cast cast, Wait<T> wait) {
        int before = waitingNow();
        var actor = cast.start(() -> {
            lock.lock();
            lock.lock();
            waiting++;
            try {
                return wait.run();
            } finally {
                waiting--;
                assertEquals(2, lock.getHoldCount());
                lock.unlock();
                lock.unlock();
            }
        });
        Cast.until(() -> waitingNow() == before + 1);
        return actor.untilWaits();
    }

    private int waitingNow() {
        lock.lock();
        try {
            return waiting;
        } finally {
            lock.unlock();
        }
    }

    private Void await() throws InterruptedException {
        condition.await();
        return null;
    }

    private void signal() {
        lock.lock();
        condition.signal();
        lock.unlock();
    }

    private void signalAll() {
        lock.lock();
        condition.signalAll();
        lock.unlock();
    }

    @ParameterizedTest
    @EnumSource
    void itNeedsTheLock(Kind kind) throws Exception {
        try (Cast cast = new Cast(kind)) {
            cast.start(() -> {
                for (int i = 0; i < 2; i++) {
                    assertThrows(IllegalMonitorStateException.class, condition::await);
                    assertThrows(IllegalMonitorStateException.class, condition::awaitUninterruptibly);
                    assertThrows(IllegalMonitorStateException.class, () -> condition.awaitNanos(1));
                    assertThrows(IllegalMonitorStateException.class, () -> condition.await(1, HOURS));
                    assertThrows(IllegalMonitorStateException.class, () -> condition.awaitUntil(new Date()));
                    assertThrows(IllegalMonitorStateException.class, condition::signal);
                    assertThrows(IllegalMonitorStateException.class, condition::signalAll);
                    lock.lock();
                    lock.unlock();
                }
                return null;
            });
        }
    }

    @ParameterizedTest
    @EnumSource
    void aSignalWakesTheFirst(Kind kind) throws Exception {
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        try (Cast cast = new Cast(kind)) {
            List<Cast.Actor<Boolean>> actors = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                int me = i;
                actors.add(waiter(cast, () -> {
                    condition.await();
                    return order.add(me);
                }));
            }
            signal();
            actors.get(0).end();
            assertEquals(List.of(0), order);
            signal();
            actors.get(1).end();
            assertEquals(List.of(0, 1), order);
            signalAll();
        }
        assertEquals(List.of(0, 1, 2, 3, 4), order);
    }

    @ParameterizedTest
    @EnumSource
    void aSignalWithoutAWaiterIsForgotten(Kind kind) throws Exception {
        signal();
        signalAll();
        try (Cast cast = new Cast(kind)) {
            var actor = waiter(cast, this::await);
            assertFalse(actor.result().isDone());
            signal();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aTimeIsOver(Kind kind) throws Exception {
        try (Cast cast = new Cast(kind)) {
            cast.start(() -> {
                lock.lock();
                assertFalse(condition.await(1, MILLISECONDS));
                assertFalse(condition.await(0, MILLISECONDS));
                assertTrue(condition.awaitNanos(1_000_000) <= 0);
                assertTrue(condition.awaitNanos(0) <= 0);
                assertTrue(condition.awaitNanos(Long.MIN_VALUE / 2) <= 0);
                assertFalse(condition.awaitUntil(new Date(System.currentTimeMillis() + 2)));
                assertFalse(condition.awaitUntil(new Date(0)));
                assertEquals(1, lock.getHoldCount());
                lock.unlock();
                return null;
            });
        }
    }

    @ParameterizedTest
    @EnumSource
    void aSignalComesInTime(Kind kind) throws Exception {
        try (Cast cast = new Cast(kind)) {
            var timed = waiter(cast, () -> condition.await(1, HOURS));
            var nanos = waiter(cast, () -> condition.awaitNanos(Long.MAX_VALUE));
            var until = waiter(cast, () -> condition.awaitUntil(new Date(Long.MAX_VALUE)));
            signalAll();
            assertTrue(timed.end());
            assertTrue(nanos.end() > 0);
            assertTrue(until.end());
        }
    }

    @ParameterizedTest
    @EnumSource
    void anInterruptEndsIt(Kind kind) throws Exception {
        try (Cast cast = new Cast(kind)) {
            List<Wait<?>> ways = List.of(this::await, () -> condition.await(1, HOURS),
                    () -> condition.awaitNanos(HOURS.toNanos(1)),
                    () -> condition.awaitUntil(new Date(System.currentTimeMillis() + HOURS.toMillis(1))));
            for (Wait<?> way : ways) {
                var actor = waiter(cast, () -> {
                    assertThrows(InterruptedException.class, way::run);
                    return Thread.currentThread().isInterrupted();
                });
                actor.thread().interrupt();
                assertFalse(actor.end());
                var atOnce = cast.start(() -> {
                    lock.lock();
                    Thread.currentThread().interrupt();
                    assertThrows(InterruptedException.class, way::run);
                    lock.unlock();
                    return Thread.currentThread().isInterrupted();
                });
                assertFalse(atOnce.end());
            }
            signal(); // none of them is left
        }
    }

    @ParameterizedTest
    @EnumSource
    void awaitUninterruptiblyIsNotInterruptedButSaysSo(Kind kind) throws Exception {
        try (Cast cast = new Cast(kind)) {
            var actor = waiter(cast, () -> {
                condition.awaitUninterruptibly();
                return Thread.interrupted();
            });
            actor.thread().interrupt();
            actor.untilWaits();
            assertFalse(actor.result().isDone());
            signal();
            assertTrue(actor.end());
        }
    }

    @ParameterizedTest
    @EnumSource
    void anInterruptAfterTheSignalIsKept(Kind kind) throws Exception {
        try (Cast cast = new Cast(kind)) {
            var actor = waiter(cast, () -> {
                condition.await();
                return Thread.interrupted();
            });
            lock.lock();
            condition.signal();
            actor.thread().interrupt();
            lock.unlock();
            assertTrue(actor.end());
        }
    }

    @ParameterizedTest
    @EnumSource
    void oneThatGaveUpTakesNoSignal(Kind kind) throws Exception {
        try (Cast cast = new Cast(kind)) {
            var first = waiter(cast, () -> assertThrows(InterruptedException.class, condition::await));
            var second = waiter(cast, this::await);
            lock.lock();
            first.thread().interrupt();
            first.untilWaits();
            Cast.until(() -> lock.linkedArrivals() > 0); // it has left, and waits for the lock
            condition.signal();
            lock.unlock();
            first.end();
            second.end();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aBufferOfTwoConditionsLosesNothing(Kind kind) throws Exception {
        Condition notFull = lock.newCondition();
        Condition notEmpty = lock.newCondition();
        ArrayDeque<Integer> buffer = new ArrayDeque<>();
        int producers = 10;
        int each = 500;
        long[] sum = {0};
        try (Cast cast = new Cast(kind)) {
            for (int i = 0; i < producers; i++) {
                cast.start(() -> {
                    for (int k = 1; k <= each; k++) {
                        lock.lock();
                        try {
                            while (buffer.size() == 4) {
                                notFull.await();
                            }
                            buffer.add(k);
                            notEmpty.signal();
                        } finally {
                            lock.unlock();
                        }
                    }
                    return null;
                });
                cast.start(() -> {
                    for (int k = 1; k <= each; k++) {
                        lock.lock();
                        try {
                            while (buffer.isEmpty()) {
                                notEmpty.await();
                            }
                            sum[0] += buffer.remove();
                            notFull.signal();
                        } finally {
                            lock.unlock();
                        }
                    }
                    return null;
                });
            }
        }
        assertEquals((long) producers * each * (each + 1) / 2, sum[0]);
    }
}
