// SPDX-License-Identifier: MIT OR Apache-2.0
/**
 * A lock for virtual threads that hands over at once: {@link io.holdfast.CesLock}, and the scheduler under which it
 * does, {@link io.holdfast.CesScheduler}.
 *
 * <p>König, Epple, Becker, "Minimize Your Critical Path with Combine-and-Exchange Locks": a thread that unlocks gives
 * its carrier to the next owner, and goes where other carriers take it.
 */
package io.holdfast;
