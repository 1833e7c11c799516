// SPDX-License-Identifier: MIT OR Apache-2.0
// Java's monitors, locks, queues and pools, with garbage to collect. The output depends on nothing but the argument.
//
// usage: java Threads TURNS
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.IntConsumer;
import java.util.stream.LongStream;

public final class Threads {
    private static final int THREADS = 16;
    private static long counter;
    private static long signalled;

    private static void inThreads(IntConsumer body) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < THREADS; index++) {
            int mine = index;
            threads.add(new Thread(() -> body.accept(mine)));
        }
        for (Thread thread : threads)
            thread.start();
        for (Thread thread : threads)
            thread.join();
    }

    private static void monitors(int turns) throws InterruptedException {
        Object monitor = new Object();
        inThreads(index -> {
            for (int turn = 0; turn < turns; turn++)
                synchronized (monitor) {
                    counter++;
                }
        });
        System.out.println("synchronized: " + counter);

        // Each thread waits for its turn: notifyAll, and waits with and without a limit.
        inThreads(index -> {
            for (int turn = 0; turn < turns / 1000; turn++)
                synchronized (monitor) {
                    try {
                        while (signalled % THREADS != index)
                            monitor.wait(turn % 2 == 0 ? 0 : 50);
                    } catch (InterruptedException impossible) {
                        throw new AssertionError(impossible);
                    }
                    signalled++;
                    monitor.notifyAll();
                }
        });
        System.out.println("wait and notify: " + signalled);
    }

    private static void locks(int turns) throws InterruptedException {
        ReentrantLock lock = new ReentrantLock();
        ReentrantReadWriteLock readWrite = new ReentrantReadWriteLock();
        long[] counts = new long[2];
        inThreads(index -> {
            for (int turn = 0; turn < turns / 10; turn++) {
                lock.lock();
                counts[0]++;
                lock.unlock();
                var side = turn % 8 == 0 ? readWrite.writeLock() : readWrite.readLock();
                side.lock();
                if (turn % 8 == 0)
                    counts[1]++;
                side.unlock();
            }
        });
        System.out.println("locks: " + counts[0] + " " + counts[1]);
    }

    private static void queues(int turns) throws InterruptedException {
        var queue = new ArrayBlockingQueue<String>(4);
        var seen = new ConcurrentHashMap<Integer, Long>();
        inThreads(index -> {
            try {
                for (int turn = 0; turn < turns / 100; turn++) {
                    if (index % 2 == 0)
                        queue.put("x".repeat(1000) + turn); // garbage for the collector's threads
                    else
                        seen.merge(queue.poll(60, TimeUnit.SECONDS).length(), 1L, Long::sum);
                }
            } catch (InterruptedException impossible) {
                throw new AssertionError(impossible);
            }
        });
        System.out.println("queue: " + seen);
    }

    public static void main(String[] arguments) throws Exception {
        int turns = Integer.parseInt(arguments[0]);
        monitors(turns);
        locks(turns);
        queues(turns);
        long sum = new ForkJoinPool(THREADS)
            .submit(() -> LongStream.range(0, 100L * turns).parallel().map(value -> value % 1000).sum()).get();
        System.gc();
        System.out.println("fork and join: " + sum);
        System.err.println("Threads: done");
        System.exit(7); // a status that nothing else has
    }
}
