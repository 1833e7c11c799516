// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::histogram::Histogram;
use crate::primes::*;
use crate::scene::{run, Found, Options, Scene};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, RwLock, Semaphore};

/// What a lock protects.
#[derive(Default)]
struct Guarded {
    primes: BTreeMap<u32, u32>,
    delays: Histogram,
    released: Option<Instant>,
}

impl Guarded {
    fn section(&mut self, at: &Scene, prime: u32, requested: Option<Instant>) {
        if let Some(asked) = requested {
            if at.measuring() {
                let entered = Instant::now();
                let from = self.released.map_or(asked, |released| released.max(asked));
                let delay = entered.checked_duration_since(from).unwrap_or(Duration::ZERO);
                self.delays.add(delay.as_nanos() as u64);
            }
        }
        *self.primes.entry(prime).or_insert(0) += 1;
        at.count();
        spin_us(at.options.section_us);
        if requested.is_some() {
            self.released = Some(Instant::now());
        }
    }
}

fn entries_of(primes: &BTreeMap<u32, u32>) -> u64 {
    primes.values().map(|times| *times as u64).sum()
}

fn must_be_equal(entries: u64, operations: u64) -> Result<(), String> {
    if entries == operations {
        return Ok(());
    }
    Err(format!("there are {entries} entries after {operations} operations"))
}

pub fn measure_mutex(options: &Options) -> Result<Found, String> {
    let resources: Vec<_> = (0..options.resources).map(|_| Arc::new(Mutex::new(Guarded::default()))).collect();
    let operations = Arc::new(AtomicU64::new(0));
    let with_delays = options.workload == "coro-queuing-delay";
    let mut found = run(options, |at, task| {
        let of = resources[task % resources.len()].clone();
        let operations = operations.clone();
        async move {
            let (mut seed, mut done) = (seed_of(task), 0);
            while !at.over() {
                let prime = random_prime(&mut seed);
                let requested = if with_delays { Some(Instant::now()) } else { None };
                of.lock().await.section(&at, prime, requested);
                factor(prime);
                done += 1;
            }
            operations.fetch_add(done, Relaxed);
        }
    });
    let mut entries = 0;
    for one in &resources {
        let guarded = one.try_lock().expect("all tasks have ended");
        entries += entries_of(&guarded.primes);
        found.delays.merge(&guarded.delays);
    }
    must_be_equal(entries, operations.load(Relaxed))?;
    Ok(found)
}

pub fn measure_rwlock(options: &Options) -> Result<Found, String> {
    let primes = Arc::new(RwLock::new(BTreeMap::new()));
    let written = Arc::new(AtomicU64::new(0));
    let found = run(options, |at, task| {
        let (primes, written) = (primes.clone(), written.clone());
        async move {
            let (mut seed, mut done) = (seed_of(task), 0);
            while !at.over() {
                let prime = random_prime(&mut seed);
                if (seed >> 8) % 100 < at.options.writers {
                    let mut held = primes.write().await;
                    *held.entry(prime).or_insert(0) += 1;
                    spin_us(at.options.section_us);
                    at.count();
                    done += 1;
                } else {
                    let held = primes.read().await;
                    black_box(held.contains_key(&prime));
                    spin_us(at.options.section_us);
                    at.count();
                }
                factor(prime);
            }
            written.fetch_add(done, Relaxed);
        }
    });
    let entries = entries_of(&primes.try_read().expect("all tasks have ended"));
    must_be_equal(entries, written.load(Relaxed))?;
    Ok(found)
}

pub fn measure_semaphore(options: &Options) -> Result<Found, String> {
    const PERMITS: usize = 4;
    let semaphore = Arc::new(Semaphore::new(PERMITS));
    let primes = (1001..2100).step_by(2).filter(|odd| is_prime(*odd));
    let known: Arc<BTreeMap<u32, u32>> = Arc::new(primes.map(|prime| (prime, 1)).collect());
    let (inside, too_many) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let found = run(options, |at, task| {
        let (semaphore, known) = (semaphore.clone(), known.clone());
        let (inside, too_many) = (inside.clone(), too_many.clone());
        async move {
            let mut seed = seed_of(task);
            while !at.over() {
                let prime = random_prime(&mut seed);
                let permit = semaphore.acquire().await.expect("a semaphore that is not closed");
                if inside.fetch_add(1, Relaxed) >= PERMITS as i64 {
                    too_many.fetch_add(1, Relaxed);
                }
                black_box(known.contains_key(&prime));
                spin_us(at.options.section_us);
                at.count();
                inside.fetch_sub(1, Relaxed);
                drop(permit);
                factor(prime);
            }
        }
    });
    if too_many.load(Relaxed) > 0 {
        return Err(format!("more than {PERMITS} tasks were inside at once"));
    }
    Ok(found)
}
