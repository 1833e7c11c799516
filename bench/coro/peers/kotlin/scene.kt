// SPDX-License-Identifier: MIT OR Apache-2.0

import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.AtomicLongArray
import java.util.concurrent.atomic.AtomicReference
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield

// The JVM interprets first and compiles what is used, twice, while the program runs. With 2 CPUs that other programs
// used too, coro-mutex and coro-semaphore were at their speed after 1 s, coro-channel after 3 s.
const val WARM_UP_S_MIN = 4.0

class Found(val elapsedS: Double, val cpuS: Double, val operations: Long, val turns: Long) {
    val delays = Histogram()
}

// Each written by one coroutine, or under one lock; on a line of its own.
class OwnCounts(private val size: Int) {
    private val values = AtomicLongArray((size + 1) * STRIDE)

    fun add(of: Int) {
        val place = (of + 1) * STRIDE
        values.lazySet(place, values.get(place) + 1)
    }

    fun sum(): Long {
        var all = 0L
        for (of in 0 until size)
            all += values.get((of + 1) * STRIDE)
        return all
    }

    private companion object {
        const val STRIDE = 16
    }
}

enum class Phase { WARMING_UP, MEASURING, OVER }

// The coroutines of one cell: how they are counted, measured and ended (scene.hpp).
class Scene(val options: Options, counts: Int) {
    val counts = OwnCounts(counts)
    private val turns = OwnCounts(options.bystanders)
    private val failure = AtomicReference<Throwable?>()
    private val failed = CoroutineExceptionHandler { _, error -> failure.compareAndSet(null, error) }
    private val scope = CoroutineScope(Dispatchers.Default + failed)

    @Volatile
    private var phase = Phase.WARMING_UP

    val isOver get() = phase == Phase.OVER
    val isMeasuring get() = phase == Phase.MEASURING

    private suspend fun standBy(number: Int) {
        while (!isOver) {
            spinUs(options.bystanderUs)
            turns.add(number)
            yield()
        }
    }

    // Runs task in coroutines with their numbers; measures; then waits until all have ended.
    fun run(task: suspend (number: Int) -> Unit): Found {
        val begin = CompletableDeferred<Unit>() // until all are there
        val running = ArrayList<Job>()
        for (number in 0 until options.bystanders)
            running += scope.launch { begin.await(); standBy(number) }
        for (number in 0 until options.tasks)
            running += scope.launch { begin.await(); task(number) }
        begin.complete(Unit)
        val found = measure()
        runBlocking { running.forEach { it.join() } }
        failure.get()?.let { throw it }
        return found
    }

    private fun measure(): Found {
        Reading() // the first one loads classes, which takes some 70 ms
        sleep(maxOf(options.seconds / 3, WARM_UP_S_MIN))
        val before = Reading()
        phase = Phase.MEASURING
        sleep(options.seconds)
        val after = Reading()
        phase = Phase.OVER
        return Found(after.timeS - before.timeS, after.cpuS - before.cpuS, after.operations - before.operations,
            after.turns - before.turns)
    }

    private inner class Reading {
        val cpuS = cpuSeconds()
        val timeS = System.nanoTime() * 1e-9
        val operations = counts.sum()
        val turns = this@Scene.turns.sum()
    }
}

private fun sleep(seconds: Double) = Thread.sleep((seconds * 1000).toLong())

// Of all threads, the JVM's own too; in steps of 10 ms.
private fun cpuSeconds(): Double {
    val system = ManagementFactory.getOperatingSystemMXBean() as com.sun.management.OperatingSystemMXBean
    return system.processCpuTime * 1e-9
}
