// SPDX-License-Identifier: MIT OR Apache-2.0
//! Log-linear, as bench/harness/histogram.hpp: each power of two in 32 parts.

pub struct Histogram {
    buckets: Vec<u64>,
    pub count: u64,
    sum: u64,
    pub max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: vec![0; 1920], count: 0, sum: 0, max: 0 }
    }
}

fn bucket_of(value: u64) -> usize {
    if value < 64 {
        return value as usize;
    }
    let shift = 58 - value.leading_zeros() as u64;
    (shift * 32 + (value >> shift)) as usize
}

fn middle_of(bucket: usize) -> u64 {
    if bucket < 64 {
        return bucket as u64;
    }
    let shift = bucket / 32 - 1;
    ((32 + bucket as u64 % 32) << shift) + (1 << shift) / 2
}

impl Histogram {
    pub fn add(&mut self, value: u64) {
        self.buckets[bucket_of(value)] += 1;
        self.count += 1;
        self.sum += value;
        self.max = self.max.max(value);
    }

    pub fn merge(&mut self, other: &Histogram) {
        for (own, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (share * self.count as f64) as u64;
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen > wanted {
                return middle_of(bucket);
            }
        }
        self.max
    }

    /// As src/measure/duration_counts.hpp writes it: four bounds for each power of two, from 1 ns on.
    pub fn duration_counts(&self) -> String {
        let mut counts = vec![0; 256];
        for (bucket, count) in self.buckets.iter().enumerate() {
            counts[(4.0 * (middle_of(bucket).max(1) as f64).log2()) as usize] += count;
        }
        let first = counts.iter().position(|&count| count > 0).unwrap_or(0);
        let end = counts.iter().rposition(|&count| count > 0).map_or(first, |last| last + 1);
        format!("{{\"first\":{first},\"counts\":{:?}}}", &counts[first..end])
    }
}
