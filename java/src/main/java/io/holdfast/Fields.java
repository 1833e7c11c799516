// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Atomic access to a class's own fields. */
final class Fields {
    private Fields() {}

    /** Of the field of that name in the class that looks it up. */
    static VarHandle handle(MethodHandles.Lookup own, String name, Class<?> type) {
        try {
            return own.findVarHandle(own.lookupClass(), name, type);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }
}
