// SPDX-License-Identifier: MIT OR Apache-2.0

// The coroutine workloads of holdfast bench with goroutines and Go's own locks. Takes the options of the other
// contenders and prints the same record (docs/benchmarks.md).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
)

const exitAbsent = 69

type options struct {
	workload    string
	workers     int
	seconds     float64
	tasks       int
	sectionUs   float64
	bystanders  int
	bystanderUs float64
	writers     int
	resources   int
}

func parse() options {
	var o options
	flag.StringVar(&o.workload, "workload", "coro-mutex", "which workload")
	flag.String("lock", "go", "its name in the record")
	flag.IntVar(&o.workers, "threads", 2, "number of processors that run goroutines")
	flag.Float64Var(&o.seconds, "seconds", 0.5, "how long to measure")
	flag.IntVar(&o.tasks, "tasks", 5000, "goroutines that lock")
	flag.Float64Var(&o.sectionUs, "section-us", 0, "microseconds added to each critical section")
	flag.IntVar(&o.bystanders, "bystanders", 0, "goroutines that take no lock")
	flag.Float64Var(&o.bystanderUs, "bystander-us", 5, "microseconds of each of their turns")
	flag.IntVar(&o.writers, "writers", 50, "percent of writers, of coro-rwlock")
	flag.IntVar(&o.resources, "resources", 1, "number of locks, of coro-mutex")
	flag.Int("spins", 0, "not for this contender")
	flag.Int("chain-max", 0, "not for this contender")
	flag.Int("turns", 0, "not for this contender")
	flag.Parse()
	return o
}

func record(o options, found result) map[string]any {
	fields := map[string]any{"workload": o.workload, "lock": "go", "threads": o.workers, "background": 0, "round": 0,
		"status": "ok", "ops_per_s": float64(found.operations) / found.elapsedS, "cpu_s": found.cpuS}
	if o.bystanders > 0 {
		fair := float64(o.bystanders) / float64(o.bystanders+o.tasks)
		fields["bystander_turns_per_s"] = float64(found.turns) / found.elapsedS
		fields["bystander_share"] = float64(found.turns) * o.bystanderUs * 1e-6 / (found.cpuS * fair)
	}
	if found.delays != nil && found.delays.count > 0 {
		fields["delay_mean_ns"] = found.delays.mean()
		fields["delay_p50_ns"] = found.delays.quantile(0.5)
		fields["delay_p99_ns"] = found.delays.quantile(0.99)
		fields["delay_max_ns"] = found.delays.max
		fields["delay_counts"] = found.delays.durationCounts()
	}
	return fields
}

func main() {
	o := parse()
	runtime.GOMAXPROCS(o.workers)
	workloads := map[string]func(options) (result, error){"coro-mutex": measureMutex, "coro-queuing-delay": measureMutex,
		"coro-rwlock": measureRWLock, "coro-semaphore": measureSemaphore, "coro-condvar": measureCondvar,
		"coro-channel": measureChannel}
	measure, known := workloads[o.workload]
	if !known {
		fmt.Fprintf(os.Stderr, "%s: go is absent: it has no such lock\n", o.workload)
		os.Exit(exitAbsent)
	}
	found, err := measure(o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: go: %v\n", o.workload, err)
		os.Exit(1)
	}
	text, _ := json.Marshal(record(o, found))
	fmt.Println(string(text))
}
