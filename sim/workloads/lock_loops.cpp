// SPDX-License-Identifier: MIT OR Apache-2.0
#include "workloads/lock_loops.hpp"

#include <vector>

#include "../bench/workloads/key_sequence.hpp"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "workloads/objects.hpp"

namespace holdfast::sim {
namespace {

constexpr double ns_a_us = 1000;

struct alignas(HF_CACHE_LINE_BYTES) shared_line {
    std::uint64_t count = 0;
};

double or_usual(double told, double usual) {
    return told < 0 ? usual : told;
}

// The time from a release to the next request, as bench/shared-memory spends it: by reading the tick counter.
void spin_for(std::uint64_t since_ns, double ns) {
    while (static_cast<double>(hf_ticks() - since_ns) < ns)
        continue;
}

// A critical section that lasts, as work_for() of the harness spends it: the time off the CPU counts.
void work_for(simulation &on, double ns) {
    std::uint64_t began = hf_ticks();
    for (double passed = 0; passed < ns; passed = static_cast<double>(hf_ticks() - began))
        on.compute(ns - passed);
}

// One lock: each thread takes it, does something inside, and something after that.
template <typename work_inside, typename work_after>
void repeat(simulation &on, measurement &figures, const workload_settings &settings, work_inside inside,
            work_after after) {
    mutex &lock = placed<mutex>(*settings.lock);
    for (unsigned i = 0; i < settings.threads; i++) {
        on.add_thread([=, &on, &lock, &figures](int number) {
            for (;;) {
                on.charge_ns(harness_ns);
                std::uint64_t asked = hf_ticks();
                figures.asks(number, asked);
                lock.lock();
                std::uint64_t got = on.observed_ns();
                inside(number);
                lock.unlock();
                std::uint64_t released = hf_ticks();
                figures.add(number, asked, got, released);
                after(released);
            }
        });
    }
}

void hold_for_times(simulation &on, measurement &figures, const workload_settings &settings, double usual_us,
                    double of_even, double of_odd) {
    double us = or_usual(settings.section_us, usual_us);
    repeat(
        on, figures, settings, [=, &on](int number) { work_for(on, (number % 2 ? of_odd : of_even) * us * ns_a_us); },
        [](std::uint64_t) {});
}

// What bench/hash-table has of a bucket: chains, in which a key is the third on average, and its value.
struct bucket {
    static constexpr std::uint32_t keys = 1000, chains = 256;
    struct node {
        std::uint64_t key, next, value;
    };
    explicit bucket(const hf_lock_kind &kind) : lock(kind) {}
    mutex lock;
    alignas(HF_CACHE_LINE_BYTES) std::uint64_t chain[chains]{};
    alignas(HF_CACHE_LINE_BYTES) node nodes[keys]{};

    std::uint64_t &find(std::uint32_t key) {
        hf_load_own(&chain[key * 2654435769u >> 24]);
        hf_load_own(&nodes[key % (keys / 2)].next); // another one of the chain, before it
        return nodes[key % keys].value;
    }
};

} // namespace

// Both shared lines are read and written.
void shared_memory(simulation &on, measurement &figures, const workload_settings &settings) {
    constexpr double usual_between_us = 0.04; // 100 ticks
    double between_ns = or_usual(settings.between_us, usual_between_us) * ns_a_us;
    auto *shared = static_cast<shared_line *>(locks_at(2, sizeof(shared_line)));
    repeat(
        on, figures, settings,
        [=, &on](int) {
            for (int i = 0; i < 2; i++)
                hf_store_own(&shared[i].count, hf_load_own(&shared[i].count) + 1);
            if (settings.section_us > 0)
                work_for(on, settings.section_us * ns_a_us);
        },
        [=](std::uint64_t released) { spin_for(released, between_ns); });
}

void scl_fairness(simulation &on, measurement &figures, const workload_settings &settings) {
    hold_for_times(on, figures, settings, 1, 1, 3);
}

void scl_toy(simulation &on, measurement &figures, const workload_settings &settings) {
    hold_for_times(on, figures, settings, 1000, 10, 1);
}

void scl_overhead(simulation &on, measurement &figures, const workload_settings &settings) {
    repeat(
        on, figures, settings, [](int) {}, [](std::uint64_t) {});
}

void hash_table(simulation &on, measurement &figures, const workload_settings &settings) {
    constexpr std::uint32_t buckets = 100, ranks_drawn = 16384;
    constexpr double zipf_exponent = 0.99;
    constexpr std::uint64_t hot_range_period_ns = 50'000'000;
    static const bench::zipf_ranks ranks(buckets * bucket::keys, zipf_exponent, ranks_drawn);
    std::vector<bucket *> table;
    for (std::uint32_t i = 0; i < buckets; i++)
        table.push_back(&placed<bucket>(*settings.lock));
    for (unsigned i = 0; i < settings.threads; i++) {
        on.add_thread([=, &on, &figures](int number) {
            bench::key_sequence keys(ranks, static_cast<unsigned>(number), clock_begin_ns, hot_range_period_ns);
            for (bool updating = true;; updating = !updating) {
                on.charge_ns(harness_ns);
                std::uint64_t asked = hf_ticks();
                std::uint32_t key = keys.next(asked);
                bucket &its = *table[key / bucket::keys];
                its.lock.lock();
                std::uint64_t got = on.observed_ns();
                std::uint64_t &value = its.find(key), seen = hf_load_own(&value);
                if (updating)
                    hf_store_own(&value, seen + 1);
                its.lock.unlock();
                figures.add(number, asked, got, hf_ticks());
            }
        });
    }
}

// Thread 0 writes, the others read.
void scl_readers_writers(simulation &on, measurement &figures, const workload_settings &settings) {
    double section_ns = or_usual(settings.section_us, 5) * ns_a_us;
    reader_writer_lock &lock = make_reader_writer_lock(*settings.lock);
    struct scene {
        int readers = 0, writers = 0;
    };
    scene &inside = placed<scene>();
    for (unsigned i = 0; i < settings.threads; i++) {
        on.add_thread([=, &on, &figures, &lock, &inside](int number) {
            bool writes = number == 0;
            for (;;) {
                on.charge_ns(harness_ns);
                std::uint64_t asked = hf_ticks();
                writes ? lock.write_lock() : lock.read_lock();
                std::uint64_t got = on.observed_ns();
                ++(writes ? inside.writers : inside.readers);
                if (inside.writers > 1 || (inside.writers && inside.readers))
                    on.stop("a writer and another thread were inside at once");
                work_for(on, section_ns);
                --(writes ? inside.writers : inside.readers);
                writes ? lock.write_unlock() : lock.read_unlock();
                figures.add(number, asked, got, hf_ticks());
            }
        });
    }
}

} // namespace holdfast::sim
