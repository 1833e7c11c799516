// SPDX-License-Identifier: MIT OR Apache-2.0
// What a lock protects in coro-mutex and coro-queuing-delay: a map, and what is noted of the sections themselves.
#pragma once

#include <cstdint>
#include <map>

#include "base/clock.h"
#include "coro/prime_work.hpp"
#include "harness/histogram.hpp"

namespace holdfast::bench {

class guarded_primes {
public:
    // A section; only under the lock. `requested` is when the lock was asked for, 0 where delays are not measured;
    // `noted`: it counts.
    void insert(unsigned prime, double section_us, unsigned worker, std::uint64_t requested, bool noted) {
        if (requested > 0 && noted)
            note_delay(requested);
        primes_[prime]++;
        sections_ += noted;
        on_same_worker_ += noted && worker == worker_before_;
        worker_before_ = worker;
        spin_us(section_us);
        if (requested > 0)
            released_ = hf_ticks();
    }

    std::uint64_t entries() const {
        std::uint64_t all = 0;
        for (auto [prime, times] : primes_)
            all += times;
        return all;
    }
    std::uint64_t sections() const noexcept { return sections_; }
    std::uint64_t on_same_worker() const noexcept { return on_same_worker_; }
    const histogram &delay_ticks() const noexcept { return delay_ticks_; }

private:
    // From when the lock was given back, or asked for if that was later: so long nobody was inside although this one
    // wanted to be.
    void note_delay(std::uint64_t requested) {
        std::uint64_t entered = hf_ticks(), from = requested > released_ ? requested : released_;
        delay_ticks_.add(entered > from ? entered - from : 0); // counters of two CPUs may differ a little
    }

    std::map<unsigned, unsigned> primes_;
    std::uint64_t sections_ = 0;
    std::uint64_t on_same_worker_ = 0;
    std::uint64_t released_ = 0;
    unsigned worker_before_ = ~0u;
    histogram delay_ticks_;
};

} // namespace holdfast::bench
