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
    private static final String FIXED = System.getProperty("holdfast.ces.policy", "measured");
    private static final boolean MEASURED = FIXED.equals("measured");
    private static final int CALLS_PER_LOOK = 16; // at the clock
    private static final long WINDOW_NS = 2_000_000;
    private static final long WINDOW_NS_MAX = 50_000_000; // a longer one had a time in which nobody waited
    private static final int SECTIONS_MIN = 64; // in a window
    private static final int WINDOWS_KEPT = 24; // of the better arm, before the other one is tried again
    private static final double GAIN_MIN = 1.03; // for which the arm is changed

    private boolean exchanges = !FIXED.equals("free");
    private int calls;
    private long began;
    private long sectionsBefore;
    private boolean settles = true; // the window after a change of arm is not counted
    private boolean tries; // the other arm is tried
    private int windows; // of this arm
    private boolean triedNone = true;
    private double keptRate; // of the arm that is kept, in its last window

    /** True for an exchange. `sections`: how many there were, ever. */
    boolean exchanges(long sections) {
        if (MEASURED && ++calls >= CALLS_PER_LOOK) {
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
        if (time > WINDOW_NS_MAX) {
            return;
        }
        if (settles) {
            settles = false;
            return;
        }
        double rate = (double) done / time;
        if (!tries) {
            keptRate = windows == 0 ? rate : (keptRate + rate) / 2;
            windows++;
            if (windows >= WINDOWS_KEPT || triedNone) {
                triedNone = false;
                change(true);
            }
        } else if (rate > keptRate * GAIN_MIN) {
            keptRate = rate;
            tries = false;
            windows = 1;
        } else {
            change(false);
        }
    }

    private void change(boolean toTry) {
        exchanges = !exchanges;
        tries = toTry;
        settles = true;
        windows = 0;
    }
}
