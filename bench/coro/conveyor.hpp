// SPDX-License-Identifier: MIT OR Apache-2.0
// Half of the tasks find primes and put them into a buffer, the others take them out and factor them; for coro-condvar
// and coro-channel. A Buffer has put(prime), take() and close(), which are awaited.
#pragma once

#include <atomic>
#include <fmt/core.h>

#include "coro/prime_work.hpp"
#include "coro/scene.hpp"
#include "holdfast/coro/spawn.hpp"

namespace holdfast::bench {

// What went in and what came out must be the same.
struct conveyor_sums {
    std::atomic<std::uint64_t> put = 0;
    std::atomic<std::uint64_t> taken = 0;
};

template <class Buffer>
coro::task<> produce(Buffer &buffer, conveyor_sums &sums, scene &at, unsigned seed) {
    std::uint64_t sum = 0;
    while (!at.over()) {
        unsigned prime = random_prime(seed);
        if (!co_await buffer.put(prime))
            break;
        sum += prime;
    }
    sums.put += sum;
    at.ended(0);
}

template <class Buffer>
coro::task<> consume(Buffer &buffer, conveyor_sums &sums, scene &at) {
    std::uint64_t sum = 0;
    while (auto prime = co_await buffer.take()) {
        at.count();
        sum += *prime;
        factor(*prime);
    }
    sums.taken += sum;
    at.ended(0);
}

template <class Buffer>
coro::task<> close(Buffer &buffer) {
    co_await buffer.close();
}

template <class Buffer>
cell_result measure_conveyor(const cell_options &options, Buffer &buffer) {
    scene at(options);
    conveyor_sums sums;
    coro::pool *used = nullptr;
    cell_result result = at.run(
        [&](coro::pool &pool) {
            used = &pool;
            for (unsigned i = 0; i < options.tasks; i++) {
                if (i % 2)
                    coro::spawn(pool, consume(buffer, sums, at));
                else
                    coro::spawn(pool, produce(buffer, sums, at, seed_of(i)));
            }
        },
        [&] { coro::spawn(*used, close(buffer)); });
    if (sums.put != sums.taken)
        throw result_wrong(
            fmt::format("primes of the sum {} were put in and of {} taken out", sums.put.load(), sums.taken.load()));
    return result;
}

} // namespace holdfast::bench
