// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** All operations at random by 1000 threads, with interrupts and times that are over: -Dholdfast.stress=SECONDS. */
class CesStressTest {
    private static final int THREADS = 1000;
    private static final double SECONDS =
            Double.parseDouble(System.getProperty("holdfast.stress", "10")) / Kind.values().length;

    /** A lock, and what it guards. */
    private static final class Guarded {
        final CesLock lock;
        final Condition ping;
        final Condition pong;
        int inside;
        long sections;
        long tokens; // what a wait for ping takes and a signal brings
        long takers; // those that wait for ping without a limit

        Guarded(Exploration exploration) {
            lock = new CesLock(exploration);
            ping = lock.newCondition();
            pong = lock.newCondition();
        }
    }

    private final Guarded[] guarded = {
        new Guarded(new Exploration()), new Guarded(new Exploration(true)), new Guarded(new Exploration(false))
    };
    private final AtomicLong done = new AtomicLong();
    private final AtomicLong interrupts = new AtomicLong();
    private final AtomicIntegerArray steps = new AtomicIntegerArray(THREADS);
    private volatile boolean ends;

    @ParameterizedTest
    @EnumSource
    void nothingIsLost(Kind kind) throws Exception {
        int threads = kind == Kind.PLATFORM ? 100 : THREADS;
        List<Cast.Actor<Void>> actors = new ArrayList<>();
        try (Cast cast = new Cast(kind)) {
            for (int i = 0; i < threads; i++) {
                int me = i;
                actors.add(cast.start(() -> act(me)));
            }
            SplittableRandom random = new SplittableRandom(kind.ordinal());
            long began = System.nanoTime();
            long lastSeen = -1;
            long lastChange = began;
            while (System.nanoTime() - began < SECONDS * 1e9) {
                for (int i = 0; i < 10; i++) {
                    actors.get(random.nextInt(threads)).thread().interrupt();
                    interrupts.incrementAndGet();
                }
                LockSupport.parkNanos(200_000);
                long seen = done.get();
                if (seen != lastSeen) {
                    lastSeen = seen;
                    lastChange = System.nanoTime();
                }
                assertTrue(System.nanoTime() - lastChange < Cast.FAR_AWAY_S * 1_000_000_000L, "nobody goes on");
            }
            ends = true;
            // Those that wait for a token without a limit get one.
            Cast.until(() -> {
                for (Guarded one : guarded) {
                    one.lock.lock();
                    one.tokens += one.takers;
                    one.ping.signalAll();
                    one.pong.signalAll();
                    one.lock.unlock();
                }
                return actors.stream().allMatch(actor -> actor.result().isDone());
            });
        }
        long sections = 0;
        for (Guarded one : guarded) {
            assertFalse(one.lock.isLocked());
            assertEquals(0, one.inside);
            sections += one.sections;
        }
        assertEquals(done.get(), sections);
        for (int i = 0; i < threads; i++) {
            assertTrue(steps.get(i) > 0, "thread " + i + " never came");
        }
        System.out.printf("%s: %d sections, %d interrupts%n", kind, sections, interrupts.get());
    }

    private Void act(int me) {
        SplittableRandom random = new SplittableRandom(me);
        do {
            Guarded one = guarded[random.nextInt(guarded.length)];
            try {
                step(one, random);
            } catch (InterruptedException interrupted) {
                assertFalse(one.lock.isHeldByCurrentThread());
            }
            steps.incrementAndGet(me);
        } while (!ends);
        return null;
    }

    private void step(Guarded one, SplittableRandom random) throws InterruptedException {
        boolean has = switch (random.nextInt(6)) {
            case 0 -> one.lock.tryLock();
            case 1 -> one.lock.tryLock(random.nextInt(200), TimeUnit.MICROSECONDS);
            case 2 -> {
                one.lock.lockInterruptibly();
                yield true;
            }
            default -> {
                one.lock.lock();
                yield true;
            }
        };
        if (!has) {
            return;
        }
        enter(one);
        try {
            switch (random.nextInt(16)) {
                case 0 -> Thread.yield();
                case 1 -> LockSupport.parkNanos(random.nextInt(20_000));
                case 2 -> waitInside(one, () -> one.pong.awaitNanos(random.nextInt(100_000)));
                case 3 -> takeToken(one);
                case 4 -> one.pong.signal();
                case 5 -> one.pong.signalAll();
                case 6 -> {
                    one.lock.lock();
                    one.lock.unlock();
                }
                case 7 -> {
                    Guarded other = guarded[random.nextInt(guarded.length)];
                    if (other != one && other.lock.tryLock()) {
                        enter(other);
                        leave(other);
                        other.lock.unlock();
                    }
                }
                default -> {
                    one.tokens++;
                    one.ping.signal();
                }
            }
        } finally {
            leave(one);
            one.lock.unlock();
        }
    }

    private interface Wait {
        void run() throws InterruptedException;
    }

    private void waitInside(Guarded one, Wait wait) throws InterruptedException {
        one.inside--;
        try {
            wait.run();
        } finally {
            one.inside++;
        }
    }

    /** A signal that is lost leaves it waiting with a token there; each token is taken once. */
    private void takeToken(Guarded one) throws InterruptedException {
        one.takers++;
        try {
            while (one.tokens == 0 && !ends) {
                waitInside(one, one.ping::await);
            }
            one.tokens = Math.max(0, one.tokens - 1);
        } finally {
            one.takers--;
        }
    }

    private void enter(Guarded one) {
        assertEquals(1, ++one.inside, "inside");
        assertEquals(1, one.lock.getHoldCount());
    }

    private void leave(Guarded one) {
        assertEquals(1, one.inside, "inside");
        one.inside--;
        one.sections++;
        done.incrementAndGet();
    }
}
