// SPDX-License-Identifier: MIT OR Apache-2.0
// What a lock protects in coro-mutex and coro-queuing-delay: a map, and what is noted of the sections themselves.
#pragma once

#include <cstdint>
#include <map>

#include "coro/prime_work.hpp"
#include "coro/queuing_delay.hpp"

namespace holdfast::bench {

class guarded_primes {
public:
    // A section; only under the lock. `requested` is when the lock was asked for, 0 where delays are not measured;
    // `noted`: it counts.
    void insert(unsigned prime, double section_us, unsigned worker, std::uint64_t requested, bool noted) {
        if (requested > 0)
            delay_.entered(requested, noted);
        primes_[prime]++;
        sections_ += noted;
        on_same_worker_ += noted && worker == worker_before_;
        worker_before_ = worker;
        spin_us(section_us);
        if (requested > 0)
            delay_.left();
    }

    std::uint64_t entries() const {
        std::uint64_t all = 0;
        for (auto [prime, times] : primes_)
            all += times;
        return all;
    }
    std::uint64_t sections() const noexcept { return sections_; }
    std::uint64_t on_same_worker() const noexcept { return on_same_worker_; }
    const histogram &delay_ticks() const noexcept { return delay_.ticks(); }

private:
    std::map<unsigned, unsigned> primes_;
    std::uint64_t sections_ = 0;
    std::uint64_t on_same_worker_ = 0;
    unsigned worker_before_ = ~0u;
    queuing_delay delay_;
};

} // namespace holdfast::bench
