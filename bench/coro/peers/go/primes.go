// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import "time"

// The same as prime_work.hpp, with the same numbers.

func spinUs(us float64) {
	if us <= 0 {
		return
	}
	for began, length := time.Now(), time.Duration(us*1000); time.Since(began) < length; {
	}
}

func isPrime(odd uint32) bool {
	for divisor := uint32(3); divisor*divisor <= odd; divisor += 2 {
		if odd%divisor == 0 {
			return false
		}
	}
	return true
}

func randomPrime(seed *uint32) uint32 {
	*seed = *seed*1664525 + 1013904223
	candidate := (1000 + *seed>>22) | 1
	for !isPrime(candidate) {
		candidate += 2
	}
	return candidate
}

//go:noinline
func largestFactor(number uint32) uint32 {
	last := number
	for divisor := uint32(2); divisor <= number/4; divisor++ {
		if number%divisor == 0 {
			last = divisor
		}
	}
	return last
}

func seedOf(task int) uint32 { return 7919 * uint32(task) }
