// SPDX-License-Identifier: MIT OR Apache-2.0

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicLong
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.sync.Mutex

class WrongResult(sentence: String) : Exception(sentence)

// A lock and what it protects.
class Resource(private val scene: Scene, private val number: Int) {
    val mutex = Mutex()
    val delays = Histogram()
    private val primes = HashMap<Int, Int>()
    private var released = Long.MIN_VALUE

    // requested: 0 where delays are not measured.
    fun section(prime: Int, requested: Long) {
        if (requested != 0L && scene.isMeasuring)
            delays.add(System.nanoTime() - maxOf(requested, released))
        primes[prime] = (primes[prime] ?: 0) + 1
        scene.counts.add(number)
        spinUs(scene.options.sectionUs)
        if (requested != 0L)
            released = System.nanoTime()
    }

    fun entries(): Long {
        var all = 0L
        for (times in primes.values)
            all += times
        return all
    }
}

fun measureMutex(options: Options): Found {
    val scene = Scene(options, options.resources)
    val resources = List(options.resources) { Resource(scene, it) }
    val withDelays = options.workload == "coro-queuing-delay"
    val operations = AtomicLong()
    val found = scene.run { task ->
        val resource = resources[task % resources.size]
        val work = PrimeWork(task)
        var done = 0L
        while (!scene.isOver) {
            val prime = work.randomPrime()
            val requested = if (withDelays) System.nanoTime() else 0
            resource.mutex.lock()
            resource.section(prime, requested)
            resource.mutex.unlock()
            work.factor(prime)
            done++
        }
        operations.addAndGet(done)
    }
    var entries = 0L
    for (resource in resources) {
        entries += resource.entries()
        found.delays.merge(resource.delays)
    }
    if (entries != operations.get())
        throw WrongResult("there are $entries entries after $operations operations")
    return found
}

const val BUFFER_SIZE = 16

// Half of the coroutines put primes in, the others take them out and factor them (conveyor.hpp).
fun measureChannel(options: Options): Found {
    val scene = Scene(options, options.tasks)
    val between = Channel<Int>(BUFFER_SIZE)
    val put = AtomicLong()
    val taken = AtomicLong()
    val producers = AtomicInteger((options.tasks + 1) / 2)
    val found = scene.run { task ->
        val work = PrimeWork(task)
        var total = 0L
        if (task % 2 == 1) {
            for (prime in between) {
                scene.counts.add(task)
                total += prime
                work.factor(prime)
            }
            taken.addAndGet(total)
        } else {
            while (!scene.isOver) {
                val prime = work.randomPrime()
                between.send(prime)
                total += prime
            }
            put.addAndGet(total)
            if (producers.decrementAndGet() == 0)
                between.close()
        }
    }
    if (put.get() != taken.get())
        throw WrongResult("primes of the sum $put were put in and of $taken taken out")
    return found
}
