// SPDX-License-Identifier: MIT OR Apache-2.0

import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.sync.Semaphore

val semaphoreWorkloads = mapOf<String, (Options) -> Found>("coro-semaphore" to ::measureSemaphore)

private const val PERMITS = 4

fun measureSemaphore(options: Options): Found {
    val scene = Scene(options, options.tasks)
    val semaphore = Semaphore(PERMITS)
    val known = HashMap<Int, Int>()
    for (odd in 1001 until 2100 step 2)
        if (isPrime(odd))
            known[odd] = largestFactor(odd)
    val inside = AtomicInteger()
    val wrong = AtomicInteger()
    val found = scene.run { task ->
        val work = PrimeWork(task)
        while (!scene.isOver) {
            val prime = work.randomPrime()
            semaphore.acquire()
            if (inside.incrementAndGet() > PERMITS || !known.containsKey(prime))
                wrong.incrementAndGet()
            spinUs(options.sectionUs)
            scene.counts.add(task)
            inside.decrementAndGet()
            semaphore.release()
            work.factor(prime)
        }
    }
    if (wrong.get() > 0)
        throw WrongResult("more than $PERMITS coroutines were inside at once, or a prime was not known")
    return found
}
