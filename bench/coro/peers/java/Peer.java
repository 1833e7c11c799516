// SPDX-License-Identifier: MIT OR Apache-2.0
package io.holdfast.bench;

import io.holdfast.CesLock;
import io.holdfast.CesScheduler;
import java.util.Locale;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * coro-mutex of holdfast bench with Java's virtual threads: ReentrantLock on the JDK's scheduler (--lock java), or
 * CesLock on ours (java-ces). Takes the options of the other contenders and prints the same record
 * (docs/benchmarks.md).
 */
final class Peer {
    private static final int EXIT_FAILED = 1;
    private static final int EXIT_USAGE = 2;
    private static final int EXIT_ABSENT = 69;
    private static final double WARM_UP_S_MIN = 2; // compiled by the JVM before it counts

    private String workload = "coro-mutex";
    private String lock = "java";
    private int workers = 2;
    private double seconds = 0.5;
    private int tasks = 5000;
    private double sectionUs;
    private int bystanders;
    private double bystanderUs = 5;
    private int resources = 1;

    private static void end(int status, String sentence) {
        System.err.println(sentence);
        System.exit(status);
    }

    private void set(String name, String value) {
        switch (name) {
            case "--workload" -> workload = value;
            case "--lock" -> lock = value;
            case "--threads" -> workers = Integer.parseInt(value);
            case "--seconds" -> seconds = Double.parseDouble(value);
            case "--tasks" -> tasks = Integer.parseInt(value);
            case "--section-us" -> sectionUs = Double.parseDouble(value);
            case "--bystanders" -> bystanders = Integer.parseInt(value);
            case "--bystander-us" -> bystanderUs = Double.parseDouble(value);
            case "--resources" -> resources = Integer.parseInt(value);
            case "--writers", "--cached-rows", "--spins", "--chain-max", "--turns" -> { } // not for this contender
            default -> end(EXIT_USAGE, "coro-peer-java: there is no option '" + name + "'");
        }
    }

    // Each is "--name value" or "--name=value".
    private void parse(String[] arguments) {
        for (int i = 0; i < arguments.length; i++) {
            String[] parts = arguments[i].split("=", 2);
            String value = parts.length == 2 ? parts[1] : i + 1 < arguments.length ? arguments[++i] : "";
            try {
                set(parts[0], value);
            } catch (NumberFormatException notOne) {
                end(EXIT_USAGE, "coro-peer-java: " + parts[0] + " takes a number, not '" + value + "'");
            }
        }
    }

    private String record(Cell.Found found) {
        String bystanding = "";
        if (bystanders > 0) {
            double fair = (double) bystanders / (bystanders + tasks);
            double share = found.cpuS() > 0 ? found.turns() * bystanderUs * 1e-6 / (found.cpuS() * fair) : 0;
            bystanding = String.format(Locale.ROOT, ",\"bystander_turns_per_s\":%f,\"bystander_share\":%f",
                    found.turns() / found.elapsedS(), share);
        }
        return String.format(Locale.ROOT, "{\"workload\":\"%s\",\"lock\":\"%s\",\"threads\":%d,\"background\":0,"
                + "\"round\":0,\"status\":\"ok\",\"ops_per_s\":%f,\"cpu_s\":%f%s}", workload, lock, workers,
                found.sections() / found.elapsedS(), found.cpuS(), bystanding);
    }

    private Cell.Found measure() throws InterruptedException {
        boolean ours = lock.equals("java-ces");
        System.setProperty("jdk.virtualThreadScheduler.parallelism", String.valueOf(workers)); // read at its first use
        Lock one = ours ? new CesLock() : new ReentrantLock();
        ThreadFactory factory = ours ? new CesScheduler(workers) : Thread.ofVirtual().factory();
        return new Cell(one, Math.round(sectionUs * 1000))
                .run(factory, tasks, bystanders, Math.round(bystanderUs * 1000), WARM_UP_S_MIN, seconds);
    }

    public static void main(String[] arguments) throws InterruptedException {
        Peer peer = new Peer();
        peer.parse(arguments);
        if (!peer.workload.equals("coro-mutex") || peer.resources != 1) {
            end(EXIT_ABSENT, peer.workload + ": " + peer.lock + " is absent: it has coro-mutex alone, of one lock");
        }
        try {
            System.out.println(peer.record(peer.measure()));
            System.exit(0); // carriers of ours would go on
        } catch (IllegalStateException | UnsupportedOperationException wrong) {
            end(EXIT_FAILED, peer.workload + ": " + peer.lock + ": " + wrong.getMessage());
        }
    }
}
