// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same as prime_work.hpp, with the same numbers.
use std::hint::spin_loop;
use std::time::{Duration, Instant};

pub fn spin_us(us: f64) {
    if us <= 0.0 {
        return;
    }
    let until = Instant::now() + Duration::from_nanos((us * 1000.0) as u64);
    while Instant::now() < until {
        spin_loop();
    }
}

pub fn is_prime(odd: u32) -> bool {
    let mut divisor = 3;
    while divisor * divisor <= odd {
        if odd % divisor == 0 {
            return false;
        }
        divisor += 2;
    }
    true
}

pub fn random_prime(seed: &mut u32) -> u32 {
    *seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
    let mut candidate = (1000 + (*seed >> 22)) | 1;
    while !is_prime(candidate) {
        candidate += 2;
    }
    candidate
}

fn largest_factor(number: u32) -> u32 {
    let mut last = number;
    for divisor in 2..=number / 4 {
        if number % divisor == 0 {
            last = divisor;
        }
    }
    last
}

pub fn factor(number: u32) {
    black_box(largest_factor(number));
}

/// Makes the compiler work out a value that nobody looks at (std::hint::black_box came with Rust 1.66).
#[inline(never)]
pub fn black_box<T>(value: T) {
    unsafe { std::ptr::read_volatile(&value) };
}

pub fn seed_of(task: usize) -> u32 {
    7919u32.wrapping_mul(task as u32)
}
