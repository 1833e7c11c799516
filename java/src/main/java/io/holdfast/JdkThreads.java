// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.Executor;

/** What the JDK keeps to itself: virtual threads on a scheduler of one's own, and the carrier that runs one. */
final class JdkThreads {
    private static final MethodHandle NEW_VIRTUAL_THREAD;
    private static final MethodHandle CURRENT_CARRIER;
    private static final String MISSING;

    static {
        MethodHandle newVirtualThread = null;
        MethodHandle currentCarrier = null;
        String missing = null;
        try {
            MethodHandles.Lookup own = MethodHandles.lookup();
            Class<?> builders = Class.forName("java.lang.ThreadBuilders");
            newVirtualThread = MethodHandles.privateLookupIn(builders, own).findStatic(builders, "newVirtualThread",
                    MethodType.methodType(Thread.class, Executor.class, String.class, int.class, Runnable.class));
            currentCarrier = MethodHandles.privateLookupIn(Thread.class, own).findStatic(Thread.class,
                    "currentCarrierThread", MethodType.methodType(Thread.class));
        } catch (IllegalAccessException closed) {
            missing = "CesScheduler needs java.lang opened to it: start java with --add-opens java.base/java.lang="
                    + (JdkThreads.class.getModule().isNamed() ? "io.holdfast" : "ALL-UNNAMED");
        } catch (ReflectiveOperationException | LinkageError changed) {
            missing = "CesScheduler does not know the virtual threads of Java " + Runtime.version() + ": " + changed;
        }
        MISSING = missing;
        NEW_VIRTUAL_THREAD = missing == null ? newVirtualThread : null;
        CURRENT_CARRIER = missing == null ? currentCarrier : null;
    }

    private JdkThreads() {}

    /** Null when all is there, else a sentence that says what is not. */
    static String missing() {
        return MISSING;
    }

    /** Requires that nothing is missing. */
    static Thread newVirtualThread(Executor scheduler, Runnable task) {
        try {
            return (Thread) NEW_VIRTUAL_THREAD.invokeExact(scheduler, (String) null, 0, task);
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable checked) {
            throw new AssertionError(checked);
        }
    }

    /** The carrier that runs the caller if it is one of a {@link CesScheduler}, else null. */
    static Carrier currentCarrier() {
        if (CURRENT_CARRIER == null) {
            return null;
        }
        try {
            return (Thread) CURRENT_CARRIER.invokeExact() instanceof Carrier carrier ? carrier : null;
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable checked) {
            throw new AssertionError(checked);
        }
    }
}
