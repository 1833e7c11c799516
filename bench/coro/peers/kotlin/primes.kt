// SPDX-License-Identifier: MIT OR Apache-2.0

// The same as prime_work.hpp, with the same numbers.

fun spinUs(us: Double) {
    if (us <= 0)
        return
    val began = System.nanoTime()
    val length = (us * 1000).toLong()
    while (System.nanoTime() - began < length)
        Thread.onSpinWait()
}

fun isPrime(odd: Int): Boolean {
    var divisor = 3
    while (divisor * divisor <= odd) {
        if (odd % divisor == 0)
            return false
        divisor += 2
    }
    return true
}

fun largestFactor(number: Int): Int {
    var last = number
    var divisor = 2
    while (divisor <= number / 4) {
        if (number % divisor == 0)
            last = divisor
        divisor++
    }
    return last
}

// What a task does beside its lock.
class PrimeWork(task: Int) {
    private var seed = 7919 * task
    private var factors = 0 // a result that nobody wanted would not be computed

    fun randomPrime(): Int {
        seed = seed * 1664525 + 1013904223
        var candidate = (1000 + (seed ushr 22)) or 1
        while (!isPrime(candidate))
            candidate += 2
        return candidate
    }

    fun factor(number: Int) {
        factors += largestFactor(number)
    }
}
