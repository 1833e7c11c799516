// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A lock and what it protects.
type resource struct {
	mutex    sync.Mutex
	primes   map[uint32]uint32
	count    *ownCount
	delays   histogram
	released time.Duration
	_        [64]byte
}

var started = time.Now()

func (r *resource) section(s *scene, prime uint32, requested time.Duration) {
	if requested > 0 && s.measuring() {
		entered, from := time.Since(started), r.released
		if requested > from {
			from = requested
		}
		r.delays.add(uint64(entered - from))
	}
	r.primes[prime]++
	r.count.add()
	spinUs(s.options.sectionUs)
	if requested > 0 {
		r.released = time.Since(started)
	}
}

func measureMutex(o options) (result, error) {
	s := newScene(o, o.resources)
	resources := make([]resource, o.resources)
	for i := range resources {
		resources[i].primes, resources[i].count = map[uint32]uint32{}, &s.counts[i]
	}
	withDelays := o.workload == "coro-queuing-delay"
	var operations atomic.Uint64
	found := s.run(func(task int) {
		of, seed, done := &resources[task%o.resources], seedOf(task), uint64(0)
		for !s.over() {
			prime := randomPrime(&seed)
			var requested time.Duration
			if withDelays {
				requested = time.Since(started)
			}
			of.mutex.Lock()
			of.section(s, prime, requested)
			of.mutex.Unlock()
			largestFactor(prime)
			done++
		}
		operations.Add(done)
	}, nil)
	found.delays = &histogram{}
	entries := uint64(0)
	for i := range resources {
		entries += entriesOf(resources[i].primes)
		found.delays.merge(&resources[i].delays)
	}
	return found, mustBeEqual(entries, operations.Load())
}

func entriesOf(primes map[uint32]uint32) uint64 {
	all := uint64(0)
	for _, times := range primes {
		all += uint64(times)
	}
	return all
}

func mustBeEqual(entries, operations uint64) error {
	if entries != operations {
		return fmt.Errorf("there are %d entries after %d operations", entries, operations)
	}
	return nil
}

func measureRWLock(o options) (result, error) {
	s := newScene(o, o.tasks)
	var mutex sync.RWMutex
	var written atomic.Uint64
	primes := map[uint32]uint32{}
	found := s.run(func(task int) {
		seed, done := seedOf(task), uint64(0)
		for !s.over() {
			prime := randomPrime(&seed)
			if int(seed>>8%100) < o.writers {
				mutex.Lock()
				primes[prime]++
				spinUs(o.sectionUs)
				mutex.Unlock()
				done++
			} else {
				mutex.RLock()
				_ = primes[prime]
				spinUs(o.sectionUs)
				mutex.RUnlock()
			}
			s.counts[task].add()
			largestFactor(prime)
		}
		written.Add(done)
	}, nil)
	return found, mustBeEqual(entriesOf(primes), written.Load())
}

// Go has no semaphore of its own: a buffered channel is the usual one.
func measureSemaphore(o options) (result, error) {
	const permits = 4
	s := newScene(o, o.tasks)
	semaphore := make(chan struct{}, permits)
	known := map[uint32]uint32{}
	for odd := uint32(1001); odd < 2100; odd += 2 {
		if isPrime(odd) {
			known[odd] = largestFactor(odd)
		}
	}
	var inside, tooMany atomic.Int64
	found := s.run(func(task int) {
		seed := seedOf(task)
		for !s.over() {
			prime := randomPrime(&seed)
			semaphore <- struct{}{}
			if inside.Add(1) > permits {
				tooMany.Add(1)
			}
			_ = known[prime]
			spinUs(o.sectionUs)
			s.counts[task].add()
			inside.Add(-1)
			<-semaphore
			largestFactor(prime)
		}
	}, nil)
	if tooMany.Load() > 0 {
		return found, fmt.Errorf("more than %d goroutines were inside at once", permits)
	}
	return found, nil
}

const bufferSize = 16

type buffer interface {
	put(prime uint32)
	take() (uint32, bool)
	close() // after the last put
}

// Half of the goroutines put primes in, the others take them out and factor them (conveyor.hpp).
func measureConveyor(o options, between buffer) (result, error) {
	s := newScene(o, o.tasks)
	var put, taken atomic.Uint64
	var producers sync.WaitGroup
	producers.Add((o.tasks + 1) / 2)
	found := s.run(func(task int) {
		total := uint64(0)
		if task%2 == 1 {
			for prime, open := between.take(); open; prime, open = between.take() {
				s.counts[task].add()
				total += uint64(prime)
				largestFactor(prime)
			}
			taken.Add(total)
			return
		}
		for seed := seedOf(task); !s.over(); {
			prime := randomPrime(&seed)
			between.put(prime)
			total += uint64(prime)
		}
		put.Add(total)
		producers.Done()
	}, func() {
		producers.Wait()
		between.close()
	})
	if put.Load() != taken.Load() {
		return found, fmt.Errorf("primes of the sum %d were put in and of %d taken out", put.Load(), taken.Load())
	}
	return found, nil
}

type condBuffer struct {
	mutex             sync.Mutex
	notFull, notEmpty *sync.Cond
	primes            [bufferSize]uint32
	first, count      int
	closed            bool
}

func (b *condBuffer) put(prime uint32) {
	b.mutex.Lock()
	for b.count == bufferSize {
		b.notFull.Wait()
	}
	b.primes[(b.first+b.count)%bufferSize] = prime
	b.count++
	b.notEmpty.Signal()
	b.mutex.Unlock()
}

func (b *condBuffer) take() (uint32, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for b.count == 0 && !b.closed {
		b.notEmpty.Wait()
	}
	if b.count == 0 {
		return 0, false
	}
	prime := b.primes[b.first]
	b.first = (b.first + 1) % bufferSize
	b.count--
	b.notFull.Signal()
	return prime, true
}

func (b *condBuffer) close() {
	b.mutex.Lock()
	b.closed = true
	b.notEmpty.Broadcast()
	b.mutex.Unlock()
}

func measureCondvar(o options) (result, error) {
	between := &condBuffer{}
	between.notFull, between.notEmpty = sync.NewCond(&between.mutex), sync.NewCond(&between.mutex)
	return measureConveyor(o, between)
}

type channelBuffer chan uint32

func (b channelBuffer) put(prime uint32) { b <- prime }

func (b channelBuffer) take() (uint32, bool) {
	prime, open := <-b
	return prime, open
}

func (b channelBuffer) close() { close(b) }

func measureChannel(o options) (result, error) {
	return measureConveyor(o, make(channelBuffer, bufferSize))
}
