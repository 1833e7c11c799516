// SPDX-License-Identifier: MIT OR Apache-2.0
// As coro-mutex, with a reader-writer lock: so many percent of the sections put a prime into the map, the others look
// one up.
#include <fmt/core.h>
#include <map>

#include "coro/cell_main.hpp"
#include "coro/prime_work.hpp"
#include "coro/scene.hpp"
#include "holdfast/coro/shared_mutex.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::bench;
using coro::task;

using primes = std::map<unsigned, unsigned>;

bool writes(const scene &at, unsigned seed) {
    return (seed >> 8) % 100 < at.options().writers;
}

template <coro::policy Policy>
task<> read_and_write(coro::basic_shared_mutex<Policy> &mutex, primes &data, scene &at, unsigned seed) {
    std::uint64_t written = 0;
    while (!at.over()) {
        unsigned prime = random_prime(seed);
        if (writes(at, seed)) {
            co_await mutex.lock();
            data[prime]++;
            spin_us(at.options().section_us);
            at.count();
            written++;
            co_await mutex.unlock();
        } else {
            co_await mutex.lock_shared();
            volatile bool found = data.contains(prime);
            static_cast<void>(found);
            spin_us(at.options().section_us);
            at.count();
            co_await mutex.unlock_shared();
        }
        factor(prime);
    }
    at.ended(written);
}

template <coro::policy Policy>
cell_result measure(const cell_options &options) {
    scene at(options);
    coro::basic_shared_mutex<Policy> mutex;
    primes data;
    cell_result result = at.run([&](coro::pool &pool) {
        for (unsigned i = 0; i < options.tasks; i++)
            coro::spawn(pool, read_and_write<Policy>(mutex, data, at, seed_of(i)));
    });
    std::uint64_t entries = 0;
    for (auto [prime, times] : data)
        entries += times;
    if (entries != at.operations())
        throw result_wrong(fmt::format("there are {} entries after {} writes: two writers were inside at once", entries,
                                       at.operations()));
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return coro_workload_main(argc, argv, "coro-rwlock",
                              {{"ces", measure<coro::policy::ces>},
                               {"dispatch", measure<coro::policy::dispatch>},
                               {"inline", measure<coro::policy::inline_>}});
}
