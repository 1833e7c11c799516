// SPDX-License-Identifier: MIT OR Apache-2.0
//! The coroutine workloads of holdfast bench with Tokio's tasks and locks. Takes the options of the other contenders
//! and prints the same record (docs/benchmarks.md).
mod histogram;
mod primes;
mod scene;
mod workloads;

use scene::{Found, Options};
use std::process::exit;

const EXIT_FAILED: i32 = 1;
const EXIT_USAGE: i32 = 2;
const EXIT_ABSENT: i32 = 69;

fn number<T: std::str::FromStr>(name: &str, text: &str) -> T {
    text.parse().unwrap_or_else(|_| {
        eprintln!("coro-peer-tokio: {name} takes a number, not '{text}'");
        exit(EXIT_USAGE)
    })
}

fn parse() -> Options {
    let mut options = Options::default();
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().unwrap_or_default();
        match name.as_str() {
            "--workload" => options.workload = value,
            "--threads" => options.workers = number(&name, &value),
            "--seconds" => options.seconds = number(&name, &value),
            "--tasks" => options.tasks = number(&name, &value),
            "--section-us" => options.section_us = number(&name, &value),
            "--bystanders" => options.bystanders = number(&name, &value),
            "--bystander-us" => options.bystander_us = number(&name, &value),
            "--writers" => options.writers = number(&name, &value),
            "--resources" => options.resources = number(&name, &value),
            "--lock" | "--spins" | "--chain-max" | "--turns" => {} // not for this contender
            _ => {
                eprintln!("coro-peer-tokio: there is no option '{name}'");
                exit(EXIT_USAGE)
            }
        }
    }
    options
}

fn print_record(options: &Options, found: &Found) {
    let mut record = format!(
        "{{\"workload\":\"{}\",\"lock\":\"tokio\",\"threads\":{},\"background\":0,\"round\":0,\"status\":\"ok\",\
         \"ops_per_s\":{},\"cpu_s\":{}",
        options.workload,
        options.workers,
        found.operations as f64 / found.elapsed_s,
        found.cpu_s
    );
    let mut add = |name: &str, value: f64| record += &format!(",\"{name}\":{value}");
    if let Some(burden) = found.burden_jain {
        add("burden_jain", burden);
    }
    if options.bystanders > 0 {
        let fair = options.bystanders as f64 / (options.bystanders + options.tasks) as f64;
        let had_s = found.turns as f64 * options.bystander_us * 1e-6;
        add("bystander_turns_per_s", found.turns as f64 / found.elapsed_s);
        add("bystander_share", had_s / (found.cpu_s * fair));
    }
    if found.delays.count > 0 {
        add("delay_mean_ns", found.delays.mean());
        add("delay_p50_ns", found.delays.quantile(0.5) as f64);
        add("delay_p99_ns", found.delays.quantile(0.99) as f64);
        add("delay_max_ns", found.delays.max as f64);
        record += &format!(",\"delay_counts\":{}", found.delays.duration_counts());
    }
    println!("{record}}}");
}

fn main() {
    let options = parse();
    let result = match options.workload.as_str() {
        "coro-mutex" | "coro-queuing-delay" => workloads::measure_mutex(&options),
        "coro-rwlock" => workloads::measure_rwlock(&options),
        "coro-semaphore" => workloads::measure_semaphore(&options),
        _ => {
            eprintln!("{}: tokio is absent: it has no such lock", options.workload);
            exit(EXIT_ABSENT)
        }
    };
    match result {
        Ok(found) => print_record(&options, &found),
        Err(sentence) => {
            eprintln!("{}: tokio: {}", options.workload, sentence);
            exit(EXIT_FAILED)
        }
    }
}
