// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type result struct {
	elapsedS, cpuS    float64
	operations, turns uint64
	delays            *histogram
}

const (
	warmingUp = iota
	measuring
	over
)

// Written by one goroutine, or under one lock; on a line of its own.
type ownCount struct {
	value atomic.Uint64
	_     [56]byte
}

func (c *ownCount) add() { c.value.Store(c.value.Load() + 1) }

// The goroutines of one cell: how they are counted, measured and ended (scene.hpp).
type scene struct {
	options options
	phase   atomic.Int32
	counts  []ownCount
	turns   []ownCount
	begin   chan struct{} // closed when all are there: else those that are might keep the others from being started
	running sync.WaitGroup
}

func newScene(o options, counts int) *scene {
	return &scene{options: o, counts: make([]ownCount, counts), turns: make([]ownCount, o.bystanders), begin: make(chan struct{})}
}

func (s *scene) over() bool      { return s.phase.Load() == over }
func (s *scene) measuring() bool { return s.phase.Load() == measuring }

func (s *scene) standBy(number int) {
	for !s.over() {
		spinUs(s.options.bystanderUs)
		s.turns[number].add()
		runtime.Gosched()
	}
}

func (s *scene) start(work func()) {
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		<-s.begin
		work()
	}()
}

// Runs task in goroutines with their numbers; measures; then calls wake, and waits until all have ended.
func (s *scene) run(task func(number int), wake func()) result {
	for i := 0; i < s.options.bystanders; i++ {
		number := i
		s.start(func() { s.standBy(number) })
	}
	for i := 0; i < s.options.tasks; i++ {
		number := i
		s.start(func() { task(number) })
	}
	close(s.begin)
	seconds := func(part float64) time.Duration { return time.Duration(s.options.seconds * part * 1e9) }
	time.Sleep(seconds(1.0 / 3))
	operations, turns, cpuS, began := sum(s.counts), sum(s.turns), cpuSeconds(), time.Now()
	s.phase.Store(measuring)
	time.Sleep(seconds(1))
	found := result{operations: sum(s.counts) - operations, turns: sum(s.turns) - turns, cpuS: cpuSeconds() - cpuS,
		elapsedS: time.Since(began).Seconds()}
	s.phase.Store(over)
	if wake != nil {
		wake()
	}
	s.running.Wait()
	return found
}

func sum(counts []ownCount) uint64 {
	var all uint64
	for i := range counts {
		all += counts[i].value.Load()
	}
	return all
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// Log-linear, as bench/harness/histogram.hpp: each power of two in 32 parts.
type histogram struct {
	buckets         [1920]uint64
	count, sum, max uint64
}

func bucketOf(value uint64) uint64 {
	if value < 64 {
		return value
	}
	shift := uint64(bits.Len64(value)) - 6
	return shift*32 + value>>shift
}

func middleOf(bucket uint64) uint64 {
	if bucket < 64 {
		return bucket
	}
	shift := bucket/32 - 1
	return (32+bucket%32)<<shift + 1<<shift/2
}

func (h *histogram) add(value uint64) {
	h.buckets[bucketOf(value)]++
	h.count++
	h.sum += value
	if value > h.max {
		h.max = value
	}
}

func (h *histogram) merge(other *histogram) {
	for i, count := range other.buckets {
		h.buckets[i] += count
	}
	h.count += other.count
	h.sum += other.sum
	if other.max > h.max {
		h.max = other.max
	}
}

func (h *histogram) mean() float64 { return float64(h.sum) / float64(h.count) }

func (h *histogram) quantile(share float64) uint64 {
	wanted, seen := uint64(share*float64(h.count)), uint64(0)
	for i, count := range h.buckets {
		if seen += count; seen > wanted {
			return middleOf(uint64(i))
		}
	}
	return h.max
}

// As src/measure/duration_counts.hpp writes it: four bounds for each power of two, from 1 ns on.
func (h *histogram) durationCounts() map[string]any {
	var counts [256]uint64
	first, end := len(counts), 0
	for i, count := range h.buckets {
		if count == 0 {
			continue
		}
		place := int(4 * math.Log2(math.Max(float64(middleOf(uint64(i))), 1)))
		counts[place] += count
		if place < first {
			first = place
		}
		end = place + 1
	}
	return map[string]any{"first": first, "counts": counts[first:end]}
}
