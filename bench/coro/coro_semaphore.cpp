// SPDX-License-Identifier: MIT OR Apache-2.0
// As coro-mutex, with a semaphore of a few permits: inside, a prime is looked up in a map that nobody changes.
#include <atomic>
#include <fmt/core.h>
#include <map>

#include "coro/cell_main.hpp"
#include "coro/prime_work.hpp"
#include "coro/scene.hpp"
#include "holdfast/coro/semaphore.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::bench;
using coro::task;

constexpr unsigned permits = 4;

std::map<unsigned, unsigned> known_primes() {
    std::map<unsigned, unsigned> known;
    for (unsigned odd = 1001; odd < 2100; odd += 2)
        if (is_prime(odd))
            known[odd] = largest_factor(odd);
    return known;
}

struct place {
    const std::map<unsigned, unsigned> known = known_primes();
    alignas(HF_CACHE_LINE_BYTES) std::atomic<unsigned> inside = 0;
    std::atomic<unsigned> inside_max = 0;

    void enter() noexcept {
        unsigned now = inside.fetch_add(1, std::memory_order_relaxed) + 1;
        if (now > inside_max.load(std::memory_order_relaxed))
            inside_max.store(now, std::memory_order_relaxed); // may be lost to another: over the limit it comes again
    }
    void leave() noexcept { inside.fetch_sub(1, std::memory_order_relaxed); }
};

template <coro::policy Policy>
task<> acquire_and_release(coro::basic_semaphore<Policy> &semaphore, place &shared, scene &at, unsigned seed) {
    while (!at.over()) {
        unsigned prime = random_prime(seed);
        co_await semaphore.acquire();
        shared.enter();
        volatile bool found = shared.known.contains(prime);
        static_cast<void>(found);
        spin_us(at.options().section_us);
        at.count();
        shared.leave();
        co_await semaphore.release();
        factor(prime);
    }
    at.ended(0);
}

template <coro::policy Policy>
cell_result measure(const cell_options &options) {
    scene at(options);
    coro::basic_semaphore<Policy> semaphore(permits);
    place shared;
    cell_result result = at.run([&](coro::pool &pool) {
        for (unsigned i = 0; i < options.tasks; i++)
            coro::spawn(pool, acquire_and_release<Policy>(semaphore, shared, at, seed_of(i)));
    });
    if (shared.inside_max > permits)
        throw result_wrong(
            fmt::format("{} tasks were inside at once, of {} permits", shared.inside_max.load(), permits));
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return coro_workload_main(argc, argv, "coro-semaphore",
                              {{"ces", measure<coro::policy::ces>},
                               {"dispatch", measure<coro::policy::dispatch>},
                               {"inline", measure<coro::policy::inline_>}});
}
