// SPDX-License-Identifier: MIT OR Apache-2.0
// A hash table of 100 buckets with a lock each; half lookups, half updates; Zipf-distributed keys whose hot range
// shifts. After the buckets benchmark of FlexGuard's authors, in which neighbouring keys share a bucket, so that one
// lock at a time is hot. The differences are listed in docs/benchmarks.md.
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/cpu.h"
#include "harness/workload_main.hpp"
#include "workloads/key_sequence.hpp"

namespace {

using namespace holdfast::bench;

constexpr std::uint32_t bucket_count = 100;
constexpr std::uint32_t keys_per_bucket = 1000;
constexpr std::uint32_t key_count = bucket_count * keys_per_bucket;
constexpr std::uint32_t chains_per_bucket = 256;
constexpr double zipf_exponent = 0.99; // as in YCSB
constexpr std::uint32_t ranks_drawn = 16384;
constexpr double hot_range_period_ns = 50e6;

// A small chained table of its own. All keys are there from the start: an operation changes values, not chains.
class alignas(HF_CACHE_LINE_BYTES) bucket {
public:
    void insert(std::uint32_t key) {
        nodes_.reserve(keys_per_bucket); // chains point into it
        nodes_.push_back({key, chain_of(key), 0});
        chain_of(key) = &nodes_.back();
    }
    std::uint64_t lookup(std::uint32_t key) const { return find(key)->value; }
    void update(std::uint32_t key) { find(key)->value++; }

    std::uint64_t sum() const {
        std::uint64_t total = 0;
        for (const auto &one : nodes_)
            total += one.value;
        return total;
    }

private:
    struct node {
        std::uint32_t key;
        node *next;
        std::uint64_t value;
    };
    // Keys of a bucket are neighbours; the multiplier spreads them (Knuth's, 2^32 over the golden ratio).
    static std::uint32_t chain_index(std::uint32_t key) { return key * 2654435769u >> 24; }
    static_assert(chains_per_bucket == 1u << 8, "chain_index() takes the upper 8 of 32 bits");
    node *&chain_of(std::uint32_t key) { return chains_[chain_index(key)]; }
    node *find(std::uint32_t key) const {
        node *one = chains_[chain_index(key)];
        while (one->key != key)
            one = one->next;
        return one;
    }

    std::array<node *, chains_per_bucket> chains_{};
    std::vector<node> nodes_;
};

std::vector<bucket> make_table() {
    std::vector<bucket> table(bucket_count);
    for (std::uint32_t key = 0; key < key_count; key++)
        table[key / keys_per_bucket].insert(key);
    return table;
}

struct worker {
    const hf_lock_kind &kind;
    const lock_array &locks;
    std::vector<bucket> &table;
    key_sequence keys;
    std::uint64_t updates = 0;
    std::uint64_t values_seen = 0;
    std::uint32_t key = 0;
    bool updating = false;

    void prepare(std::uint64_t now) {
        key = keys.next(now);
        updating = !updating;
    }
    void operate() {
        std::uint32_t index = key / keys_per_bucket;
        kind.lock(locks[index]);
        if (updating)
            table[index].update(key);
        else
            values_seen += table[index].lookup(key);
        kind.unlock(locks[index]);
        updates += updating;
    }
    void rest(std::uint64_t) {}
};

team_result run(const workload_options &options) {
    zipf_ranks ranks(key_count, zipf_exponent, ranks_drawn);
    std::vector<bucket> table = make_table();
    lock_array locks(*options.lock, bucket_count);
    std::atomic<std::uint64_t> updates = 0;
    auto period_ticks = static_cast<std::uint64_t>(hot_range_period_ns / hf_tick_ns());
    std::uint64_t began = hf_ticks();
    auto result =
        run_team(options.threads, options.seconds, [&](unsigned thread, team_phase &phase, thread_result &own) {
            worker one{*options.lock, locks, table, key_sequence(ranks, thread, began, period_ticks)};
            repeat_until_stopped(phase, one, own);
            updates += one.updates;
            volatile std::uint64_t seen = one.values_seen; // or the lookups would be left out
            (void)seen;
        });

    std::uint64_t stored = 0;
    for (const auto &one : table)
        stored += one.sum();
    if (stored != updates)
        throw exclusion_violated("the table has lost updates: the lock let two threads in at once");
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return workload_main(argc, argv, "hash-table", run);
}
