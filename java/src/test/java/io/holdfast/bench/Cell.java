// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast.bench;

import io.holdfast.CesLock;
import io.holdfast.CesScheduler;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ThreadFactory;
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

    private Cell(Lock lock, long sectionNs) {
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

    private double run(ThreadFactory factory, int background, double seconds) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int me = i;
            threads.add(factory.newThread(() -> count(me)));
        }
        for (int i = 0; i < background; i++) {
            threads.add(factory.newThread(() -> {
                while (!ends) {
                    spin(BACKGROUND_NS);
                    Thread.yield();
                }
            }));
        }
        threads.forEach(Thread::start);
        Thread.sleep((long) (seconds * 1000 / 3));
        long before = (long) SECTIONS.getOpaque(this);
        long began = System.nanoTime();
        Thread.sleep((long) (seconds * 1000));
        long after = (long) SECTIONS.getOpaque(this);
        double took = (System.nanoTime() - began) / 1e9;
        ends = true;
        for (Thread thread : threads) {
            thread.join();
        }
        int counted = primes.values().stream().mapToInt(Integer::intValue).sum();
        if (counted != sections) {
            throw new IllegalStateException("two were inside: " + counted + " of " + sections);
        }
        return (after - before) / took;
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
                System.out.println(new Cell(lock, sectionNs).run(factory, background, seconds));
            }
        }
    }
}
