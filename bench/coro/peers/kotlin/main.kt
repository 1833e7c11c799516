// SPDX-License-Identifier: MIT OR Apache-2.0

// The coroutine workloads of holdfast bench with Kotlin's coroutines and the locks of kotlinx.coroutines. Takes the
// options of the other contenders and prints the same record (docs/benchmarks.md).
import kotlin.system.exitProcess

const val EXIT_FAILED = 1
const val EXIT_USAGE = 2
const val EXIT_ABSENT = 69

class Options {
    var workload = "coro-mutex"
    var workers = 2
    var seconds = 0.5
    var tasks = 5000
    var sectionUs = 0.0
    var bystanders = 0
    var bystanderUs = 5.0
    var resources = 1
}

fun usageError(sentence: String): Nothing {
    System.err.println("coro-peer-kotlin: $sentence")
    exitProcess(EXIT_USAGE)
}

fun <T> number(name: String, text: String, parsed: T?): T = parsed ?: usageError("$name takes a number, not '$text'")

// Each is "--name value" or "--name=value".
fun parse(arguments: Array<String>): Options {
    val options = Options()
    val words = arguments.flatMap { it.split("=", limit = if (it.startsWith("--")) 2 else 1) }
    for (i in words.indices step 2) {
        val name = words[i]
        val value = words.getOrElse(i + 1) { "" }
        fun whole() = number(name, value, value.toIntOrNull())
        fun real() = number(name, value, value.toDoubleOrNull())
        when (name) {
            "--workload" -> options.workload = value
            "--threads" -> options.workers = whole()
            "--seconds" -> options.seconds = real()
            "--tasks" -> options.tasks = whole()
            "--section-us" -> options.sectionUs = real()
            "--bystanders" -> options.bystanders = whole()
            "--bystander-us" -> options.bystanderUs = real()
            "--resources" -> options.resources = whole()
            "--lock", "--writers", "--cached-rows", "--spins", "--chain-max", "--turns" -> {} // not for this contender
            else -> usageError("there is no option '$name'")
        }
    }
    return options
}

fun record(options: Options, found: Found): String {
    val fields = linkedMapOf<String, Any>(
        "workload" to "\"${options.workload}\"", "lock" to "\"kotlin\"", "threads" to options.workers,
        "background" to 0, "round" to 0, "status" to "\"ok\"",
        "ops_per_s" to found.operations / found.elapsedS, "cpu_s" to found.cpuS
    )
    if (options.bystanders > 0) {
        val fair = options.bystanders.toDouble() / (options.bystanders + options.tasks)
        val hadS = found.turns * options.bystanderUs * 1e-6
        fields["bystander_turns_per_s"] = found.turns / found.elapsedS
        fields["bystander_share"] = if (found.cpuS > 0) hadS / (found.cpuS * fair) else 0
    }
    if (found.delays.count > 0) {
        fields["delay_mean_ns"] = found.delays.mean()
        fields["delay_p50_ns"] = found.delays.quantile(0.5)
        fields["delay_p99_ns"] = found.delays.quantile(0.99)
        fields["delay_max_ns"] = found.delays.max
        fields["delay_counts"] = found.delays.durationCounts()
    }
    return fields.entries.joinToString(",", "{", "}") { "\"${it.key}\":${it.value}" }
}

// Dispatchers.Default with so many threads, and no more. Read when it is first used.
fun setWorkers(workers: Int) {
    System.setProperty("kotlinx.coroutines.scheduler.core.pool.size", workers.toString())
    System.setProperty("kotlinx.coroutines.scheduler.max.pool.size", workers.toString())
}

fun main(arguments: Array<String>) {
    val options = parse(arguments)
    setWorkers(options.workers)
    val workloads = mapOf<String, (Options) -> Found>(
        "coro-mutex" to ::measureMutex, "coro-queuing-delay" to ::measureMutex, "coro-channel" to ::measureChannel
    ) + semaphoreWorkloads
    val measure = workloads[options.workload]
    if (measure == null) {
        System.err.println("${options.workload}: kotlin is absent: it has no such lock")
        exitProcess(EXIT_ABSENT)
    }
    try {
        println(record(options, measure(options)))
    } catch (error: Throwable) {
        System.err.println("${options.workload}: kotlin: ${if (error is WrongResult) error.message else error}")
        exitProcess(EXIT_FAILED)
    }
}
