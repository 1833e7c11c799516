// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tasks of one cell: how they are counted, measured and ended (scene.hpp).
use crate::histogram::Histogram;
use crate::primes::spin_us;
use std::cell::Cell;
use std::future::Future;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[derive(Clone)]
pub struct Options {
    pub workload: String,
    pub workers: usize,
    pub seconds: f64,
    pub tasks: usize,
    pub section_us: f64,
    pub bystanders: usize,
    pub bystander_us: f64,
    pub writers: u32,
    pub resources: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            workload: "coro-mutex".to_string(),
            workers: 2,
            seconds: 0.5,
            tasks: 5000,
            section_us: 0.0,
            bystanders: 0,
            bystander_us: 5.0,
            writers: 50,
            resources: 1,
        }
    }
}

#[derive(Default)]
pub struct Found {
    pub elapsed_s: f64,
    pub cpu_s: f64,
    pub operations: u64,
    pub turns: u64,
    pub burden_jain: Option<f64>,
    pub delays: Histogram,
}

const WARMING_UP: u32 = 0;
const MEASURING: u32 = 1;
const OVER: u32 = 2;

/// Written by one worker.
#[derive(Default)]
#[repr(align(64))]
struct OwnCount {
    operations: AtomicU64,
    turns: AtomicU64,
}

pub struct Scene {
    pub options: Options,
    phase: AtomicU32,
    counts: Vec<OwnCount>,
}

thread_local!(static WORKER: Cell<usize> = Cell::new(0));

fn add(count: &AtomicU64) {
    count.store(count.load(Relaxed) + 1, Relaxed);
}

impl Scene {
    pub fn over(&self) -> bool {
        self.phase.load(Acquire) == OVER
    }
    pub fn measuring(&self) -> bool {
        self.phase.load(Relaxed) == MEASURING
    }
    /// An operation, on the worker that runs the caller.
    pub fn count(&self) {
        add(&self.counts[WORKER.with(Cell::get)].operations);
    }

    async fn stand_by(self: Arc<Self>) {
        while !self.over() {
            spin_us(self.options.bystander_us);
            add(&self.counts[WORKER.with(Cell::get)].turns);
            tokio::task::yield_now().await;
        }
    }

    fn counted(&self) -> (Vec<u64>, u64) {
        let operations = self.counts.iter().map(|one| one.operations.load(Relaxed)).collect();
        (operations, self.counts.iter().map(|one| one.turns.load(Relaxed)).sum())
    }
}

/// Runs what `task` makes for each number, and measures.
pub fn run<F, T>(options: &Options, task: F) -> Found
where
    F: Fn(Arc<Scene>, usize) -> T,
    T: Future<Output = ()> + Send + 'static,
{
    let workers = options.workers;
    let started = AtomicUsize::new(0);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .on_thread_start(move || WORKER.with(|own| own.set(started.fetch_add(1, Relaxed) % workers)))
        .build()
        .expect("a runtime");
    let counts = (0..workers).map(|_| OwnCount::default()).collect();
    let scene = Arc::new(Scene { options: options.clone(), phase: AtomicU32::new(WARMING_UP), counts });
    let mut all = Vec::new();
    for _ in 0..options.bystanders {
        all.push(runtime.spawn(scene.clone().stand_by()));
    }
    for number in 0..options.tasks {
        all.push(runtime.spawn(task(scene.clone(), number)));
    }
    sleep(Duration::from_secs_f64(options.seconds / 3.0));

    let (before, turns) = scene.counted();
    let (cpu_s, began) = (cpu_seconds(), Instant::now());
    scene.phase.store(MEASURING, Relaxed);
    sleep(Duration::from_secs_f64(options.seconds));
    let (after, turns_after) = scene.counted();
    let mut found = Found {
        elapsed_s: began.elapsed().as_secs_f64(),
        cpu_s: cpu_seconds() - cpu_s,
        turns: turns_after - turns,
        ..Found::default()
    };
    scene.phase.store(OVER, Release); // pairs with over()
    for one in all {
        runtime.block_on(one).expect("a task that does not panic");
    }
    let burden: Vec<f64> = after.iter().zip(&before).map(|(now, then)| (now - then) as f64).collect();
    let sum: f64 = burden.iter().sum();
    found.operations = sum as u64;
    let squares: f64 = burden.iter().map(|one| one * one).sum();
    if workers > 1 && sum > 0.0 {
        found.burden_jain = Some(sum * sum / (workers as f64 * squares));
    }
    found
}

fn cpu_seconds() -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
