// SPDX-License-Identifier: MIT OR Apache-2.0

// Log-linear, as bench/harness/histogram.hpp: each power of two in 32 parts.
class Histogram {
    private val buckets = LongArray(1920)
    private var sum = 0L
    var count = 0L
        private set
    var max = 0L
        private set

    fun add(value: Long) {
        buckets[bucketOf(value)]++
        count++
        sum += value
        max = maxOf(max, value)
    }

    fun merge(other: Histogram) {
        for (i in buckets.indices)
            buckets[i] += other.buckets[i]
        count += other.count
        sum += other.sum
        max = maxOf(max, other.max)
    }

    fun mean() = sum.toDouble() / count

    fun quantile(share: Double): Long {
        val wanted = (share * count).toLong()
        var seen = 0L
        for (i in buckets.indices) {
            seen += buckets[i]
            if (seen > wanted)
                return middleOf(i)
        }
        return max
    }

    // As src/measure/duration_counts.hpp writes it: four bounds for each power of two, from 1 ns on.
    fun durationCounts(): String {
        val counts = LongArray(256)
        for (i in buckets.indices)
            counts[(4 * Math.log(maxOf(middleOf(i), 1).toDouble()) / Math.log(2.0) + 1e-9).toInt()] += buckets[i]
        val first = counts.indexOfFirst { it > 0 }
        val list = counts.slice(first..counts.indexOfLast { it > 0 })
        return "{\"first\":$first,\"counts\":$list}"
    }

    private fun bucketOf(value: Long): Int {
        if (value < 64)
            return value.toInt()
        val shift = 58 - java.lang.Long.numberOfLeadingZeros(value)
        return shift * 32 + (value shr shift).toInt()
    }

    private fun middleOf(bucket: Int): Long {
        if (bucket < 64)
            return bucket.toLong()
        val shift = bucket / 32 - 1
        return ((32L + bucket % 32) shl shift) + (1L shl shift) / 2
    }
}
