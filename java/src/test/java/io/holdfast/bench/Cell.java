// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast.bench;

import io.holdfast.CesLock;
import io.holdfast.CesScheduler;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One contender in a JVM of its own: measures a cell for each line of its input, "CARRIERS SECTION_NS BACKGROUND
 * SECONDS", and prints sections per second.
 *
 * <p>Figure 8 of the paper: each of 256 threads finds a random prime from 1,000 to 2,030, locks, counts it in a map,
 * unlocks, factors it. SECTION_NS is added to the section. BACKGROUND threads take no lock, and run for 5 us between
 * yields.
 */
final class Cell {
    private static final int THREADS = 256;
    private static final long BACKGROUND_NS = 5000;

    /** What was counted within elapsedS. */
    record Found(double elapsedS, double cpuS, long sections, long turns) { }

    private static final VarHandle SECTIONS;

    static {
        try {
            SECTIONS = MethodHandles.lookup().findVarHandle(Cell.class, "sections", long.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    private final Lock lock;
    private final Map<Integer, Integer> primes = new HashMap<>();
    private final long sectionNs;
    private long sections; // changed under the lock, read without it
    private volatile boolean ends;
    private volatile long factors; // so that nothing is optimised away

    Cell(Lock lock, long sectionNs) {
        this.lock = lock;
        this.sectionNs = sectionNs;
    }

    private static void spin(long ns) {
        long began = System.nanoTime();
        while (System.nanoTime() - began < ns) {
            Thread.onSpinWait();
        }
    }

    private static boolean isPrime(int odd) {
        for (int divisor = 3; divisor * divisor <= odd; divisor += 2) {
            if (odd % divisor == 0) {
                return false;
            }
        }
        return true;
    }

    private static int largestFactor(int number) {
        int last = number;
        for (int divisor = 2; divisor <= number / 4; divisor++) {
            if (number % divisor == 0) {
                last = divisor;
            }
        }
        return last;
    }

    private void count(int me) {
        int random = me * 7919;
        long sum = 0;
        while (!ends) {
            random = random * 1664525 + 1013904223; // Knuth's and Lewis's generator
            int prime = 1000 + (random >>> 22) | 1;
            while (!isPrime(prime)) {
                prime += 2;
            }
            lock.lock();
            try {
                primes.merge(prime, 1, Integer::sum);
                SECTIONS.setOpaque(this, sections + 1);
                if (sectionNs > 0) {
                    spin(sectionNs);
                }
            } finally {
                lock.unlock();
            }
            sum += largestFactor(prime);
        }
        factors = sum;
    }

    private static double cpuS() {
        return ProcessHandle.current().info().totalCpuDuration().map(Duration::toNanos).orElse(0L) / 1e9;
    }

    private static long sum(AtomicLongArray of) {
        long all = 0;
        for (int i = 0; i < of.length(); i++) {
            all += of.get(i);
        }
        return all;
    }

    Found run(ThreadFactory factory, int tasks, int background, long backgroundNs, double warmUpS, double seconds)
            throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        AtomicLongArray turns = new AtomicLongArray(background);
        for (int i = 0; i < tasks; i++) {
            int me = i;
            threads.add(factory.newThread(() -> count(me)));
        }
        for (int i = 0; i < background; i++) {
            int me = i;
            threads.add(factory.newThread(() -> {
                while (!ends) {
                    spin(backgroundNs);
                    turns.lazySet(me, turns.get(me) + 1);
                    Thread.yield();
                }
            }));
        }
        threads.forEach(Thread::start);
        Thread.sleep((long) (warmUpS * 1000));
        long before = (long) SECTIONS.getOpaque(this);
        long turnsBefore = sum(turns);
        double cpuBefore = cpuS();
        long began = System.nanoTime();
        Thread.sleep((long) (seconds * 1000));
        long after = (long) SECTIONS.getOpaque(this);
        double took = (System.nanoTime() - began) / 1e9;
        long turned = sum(turns) - turnsBefore;
        double used = cpuS() - cpuBefore;
        ends = true;
        for (Thread thread : threads) {
            thread.join();
        }
        int counted = primes.values().stream().mapToInt(Integer::intValue).sum();
        if (counted != sections) {
            throw new IllegalStateException("two were inside: " + counted + " of " + sections);
        }
        return new Found(took, used, after - before, turned);
    }

    /** ces, reentrant, reentrant-fair, ces-plain: CesLock on threads of the JDK's scheduler. */
    public static void main(String[] arguments) throws Exception {
        String contender = arguments[0];
        boolean ours = contender.equals("ces");
        CesScheduler scheduler = null;
        int carriersBefore = 0;
        try (Scanner input = new Scanner(System.in)) {
            while (input.hasNextInt()) {
                int carriers = input.nextInt();
                long sectionNs = input.nextLong();
                int background = input.nextInt();
                double seconds = Double.parseDouble(input.next());
                if (ours && carriers != carriersBefore) {
                    scheduler = new CesScheduler(carriers);
                    carriersBefore = carriers;
                }
                Lock lock = contender.startsWith("ces") ? new CesLock()
                        : new ReentrantLock(contender.equals("reentrant-fair"));
                ThreadFactory factory = ours ? scheduler : Thread.ofVirtual().factory();
                Found found = new Cell(lock, sectionNs)
                        .run(factory, THREADS, background, BACKGROUND_NS, seconds / 3, seconds);
                System.out.println(found.sections() / found.elapsedS());
            }
        }
    }
}
