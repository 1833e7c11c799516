// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

/**
 * Whether a lock's unlockers exchange, or free the lock and wake a waiter to try: whichever made more sections in the
 * same time, when it was tried last.
 *
 * <p>An exchange costs the switch of two virtual threads, which the section of the next owner waits for. To free the
 * lock costs it the way of a waiter through the scheduler's queue, but for a thread that comes by meanwhile. Which is
 * less depends on the time between sections, the number of carriers, and what else is ready.
 *
 * <p>A heuristic: no invariant depends on it. Used by the lock's owner alone, when somebody waits.
 */
final class Exploration {
    private static final String POLICY = System.getProperty("holdfast.ces.policy", "measured");
    private static final int CALLS_PER_LOOK = 16; // at the clock
    private static final long WINDOW_NS = 2_000_000;
    private static final long WINDOW_NS_MAX = 50_000_000; // a longer one had a time in which nobody waited
    private static final int SECTIONS_MIN = 64; // in a window
    private static final int WINDOWS_TRIED = 2;
    private static final int WINDOWS_KEPT = 64; // before the other arm is tried again
    private static final double EXCHANGES_GAIN = 1.05; // for which exchanges are kept: else they are not worth it

    private final boolean measured;
    private boolean exchanges;
    private int calls;
    private long began;
    private long sectionsBefore;
    private int settling = 1; // windows after a change of arm that are not counted
    private boolean tries; // the other arm
    private int windows; // of this arm
    private int windowsUntilTrial = 2; // soon after the beginning
    private double rate; // of this arm
    private double keptRate; // of the other one, while this is tried

    Exploration() {
        measured = !POLICY.equals("exchange") && !POLICY.equals("free");
        exchanges = POLICY.equals("exchange");
    }

    /** One that never changes. */
    Exploration(boolean exchanges) {
        this.measured = false;
        this.exchanges = exchanges;
    }

    /** True for an exchange. `sections`: how many there were, ever. */
    boolean exchanges(long sections) {
        if (measured && ++calls >= CALLS_PER_LOOK) {
            calls = 0;
            look(System.nanoTime(), sections);
        }
        return exchanges;
    }

    boolean exchanges() {
        return exchanges;
    }

    /** What has been seen by now. */
    void look(long now, long sections) {
        long time = now - began;
        long done = sections - sectionsBefore;
        if (time < WINDOW_NS || done < SECTIONS_MIN && time <= WINDOW_NS_MAX) {
            return;
        }
        began = now;
        sectionsBefore = sections;
        if (time > WINDOW_NS_MAX || settling-- > 0) {
            return;
        }
        settling = 0;
        double seen = (double) done / time;
        rate = windows == 0 ? seen : (rate + seen) / 2;
        windows++;
        if (tries && windows == WINDOWS_TRIED) {
            double ofExchanges = exchanges ? rate : keptRate;
            double ofFreeing = exchanges ? keptRate : rate;
            boolean best = ofExchanges > ofFreeing * EXCHANGES_GAIN;
            tries = false;
            windowsUntilTrial = WINDOWS_KEPT;
            turnTo(best);
        } else if (!tries && windows >= windowsUntilTrial) {
            keptRate = rate;
            tries = true;
            turnTo(!exchanges);
        }
    }

    private void turnTo(boolean arm) {
        settling = arm == exchanges ? 0 : 1;
        exchanges = arm;
        windows = 0;
    }
}
