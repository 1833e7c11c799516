// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** In a JVM of its own, where java.lang is not opened. */
@Timeout(Cast.FAR_AWAY_S)
class WithoutOpensTest {
    @Test
    void theSchedulerSaysWhatItNeeds() {
        assertFalse(CesScheduler.isSupported());
        var thrown = assertThrows(UnsupportedOperationException.class, CesScheduler::new);
        assertEquals("CesScheduler needs java.lang opened to it: start java with "
                + "--add-opens java.base/java.lang=ALL-UNNAMED", thrown.getMessage());
    }

    @Test
    void withThePropertyItMakesThreadsOfTheJdk() throws Exception {
        System.setProperty("holdfast.ces.optional", "true");
        int[] count = {0};
        CesLock lock = new CesLock();
        try (var scheduler = new CesScheduler(2)) {
            assertTrue(scheduler.newThread(() -> { }).isVirtual()); // and is not waited for
            for (int i = 0; i < 100; i++) {
                scheduler.start(() -> {
                    for (int round = 0; round < 100; round++) {
                        lock.lock();
                        count[0]++;
                        Thread.yield();
                        lock.unlock();
                    }
                });
            }
        } finally {
            System.clearProperty("holdfast.ces.optional");
        }
        assertEquals(100 * 100, count[0]);
        assertNull(Carrier.here());
    }
}
