// SPDX-License-Identifier: MIT OR Apache-2.0
/** Locks for virtual threads: see {@link io.holdfast}. */
module io.holdfast {
    exports io.holdfast;
}
