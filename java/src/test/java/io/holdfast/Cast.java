// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/** The threads of one test, which all must end, and whose failures are the test's. */
final class Cast implements AutoCloseable {
    /** No test waits as long unless something hangs. */
    static final long FAR_AWAY_S = 120;

    /** A thread and what it returns. */
    record Actor<T>(Thread thread, CompletableFuture<T> result) {
        /** What it returned; the test fails if it threw. */
        T end() throws Exception {
            try {
                return result.get(FAR_AWAY_S, TimeUnit.SECONDS);
            } catch (ExecutionException failed) {
                throw new AssertionError(thread + " failed", failed.getCause());
            } catch (TimeoutException hangs) {
                AssertionError error = new AssertionError(thread + " hangs");
                error.setStackTrace(thread.getStackTrace());
                throw error;
            }
        }

        /** Returns once it waits for something, with or without a deadline. */
        Actor<T> untilWaits() {
            until(() -> thread.getState() == Thread.State.WAITING
                    || thread.getState() == Thread.State.TIMED_WAITING);
            return this;
        }
    }

    private final Kind.Threads threads;
    private final List<Actor<?>> actors = new ArrayList<>();

    Cast(Kind kind) {
        threads = kind.open();
    }

    <T> Actor<T> start(Callable<T> part) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = threads.newThread(() -> {
            try {
                result.complete(part.call());
            } catch (Throwable thrown) {
                result.completeExceptionally(thrown);
            }
        });
        Actor<T> actor = new Actor<>(thread, result);
        actors.add(actor);
        thread.start();
        return actor;
    }

    CesScheduler scheduler() {
        return threads.scheduler;
    }

    static void until(BooleanSupplier holds) {
        long began = System.nanoTime();
        while (!holds.getAsBoolean()) {
            if (System.nanoTime() - began > TimeUnit.SECONDS.toNanos(FAR_AWAY_S)) {
                throw new AssertionError("what the test waits for does not come");
            }
            Thread.yield();
        }
    }

    @Override
    public void close() throws Exception {
        for (Actor<?> actor : actors) {
            actor.end();
        }
        threads.close();
    }
}
