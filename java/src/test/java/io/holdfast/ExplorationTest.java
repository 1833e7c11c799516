// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExplorationTest {
    private static final long WINDOW_NS = 2_000_000;

    private final Exploration exploration = new Exploration();
    private long now = 1;
    private long sections;

    private boolean exchanges() {
        return exploration.exchanges();
    }

    /** Windows in which one arm makes so many sections, and the other one so many; how many of them exchanged. */
    private int run(int windows, int exchanging, int freeing) {
        int exchanged = 0;
        for (int i = 0; i < windows; i++) {
            boolean with = exchanges();
            exchanged += with ? 1 : 0;
            now += WINDOW_NS;
            sections += with ? exchanging : freeing;
            exploration.look(now, sections);
        }
        return exchanged;
    }

    @Test
    void itBeginsWithoutExchanges() {
        assertFalse(exchanges());
    }

    @Test
    void theBetterArmIsKept() {
        run(10, 2000, 1000);
        int exchanged = run(260, 2000, 1000);
        assertTrue(exchanged >= 230 && exchanged < 260, "of 260: " + exchanged);
    }

    @Test
    void theOtherArmIsFoundBetter() {
        run(10, 1000, 2000);
        int exchanged = run(260, 1000, 2000);
        assertTrue(exchanged > 0 && exchanged <= 30, "of 260: " + exchanged);
    }

    @Test
    void aChangeOfTheProgramIsSeen() {
        run(100, 2000, 1000);
        run(80, 1000, 2000);
        assertTrue(run(260, 1000, 2000) <= 30);
        run(80, 2000, 1000);
        assertTrue(run(260, 2000, 1000) >= 230);
    }

    @Test
    void whereItIsCloseNoneAreExchanged() {
        run(10, 1040, 1000);
        assertTrue(run(260, 1040, 1000) <= 30);
    }

    /** Neither a time in which nobody waited, nor a window with few sections, says which arm is better. */
    @ParameterizedTest
    @ValueSource(longs = {WINDOW_NS / 2, 100 * WINDOW_NS})
    void whatSaysNothingIsNotCounted(long time) {
        run(3, 2000, 1000);
        boolean before = exchanges();
        for (int i = 0; i < 20; i++) {
            now += time;
            sections += time < WINDOW_NS ? 1 : 0;
            exploration.look(now, sections);
        }
        assertTrue(before == exchanges());
        assertFalse(sections == 0);
    }
}
