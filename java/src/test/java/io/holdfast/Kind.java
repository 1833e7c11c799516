// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Whose threads a test runs on. */
enum Kind {
    PLATFORM,
    VIRTUAL, // of the JDK's scheduler
    CES_1, // of one carrier
    CES_2,
    CES_4,
    MIXED; // by turns

    /** Threads of it, and the scheduler that they need, until it is closed. */
    Threads open() {
        return new Threads(this);
    }

    static final class Threads implements ThreadFactory, AutoCloseable {
        final Kind kind;
        final CesScheduler scheduler;
        private final AtomicInteger made = new AtomicInteger();

        private Threads(Kind kind) {
            this.kind = kind;
            scheduler = switch (kind) {
                case PLATFORM, VIRTUAL -> null;
                case CES_1 -> new CesScheduler(1);
                case CES_2, MIXED -> new CesScheduler(2);
                case CES_4 -> new CesScheduler(4);
            };
        }

        @Override
        public Thread newThread(Runnable task) {
            return switch (kind) {
                case PLATFORM -> Thread.ofPlatform().daemon().unstarted(task);
                case VIRTUAL -> Thread.ofVirtual().unstarted(task);
                case MIXED -> switch (made.getAndIncrement() % 4) {
                    case 0 -> Thread.ofPlatform().daemon().unstarted(task);
                    case 1 -> Thread.ofVirtual().unstarted(task);
                    default -> scheduler.newThread(task);
                };
                default -> scheduler.newThread(task);
            };
        }

        @Override
        public void close() {
            if (scheduler != null) {
                scheduler.close();
            }
        }
    }
}
