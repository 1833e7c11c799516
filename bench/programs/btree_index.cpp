// SPDX-License-Identifier: MIT OR Apache-2.0
// A B+-tree index with a lock in every node, millions of them, after PiBench's skewed runs: half lookups, half updates,
// keys self-similar with skew 0.2 (80% of the operations go to 20% of the keys, and so on within those). A thread takes
// a child's lock before it gives back the parent's.
#include <array>
#include <cmath>
#include <pthread.h>
#include <vector>

#include "programs/program.hpp"

namespace {

using namespace holdfast::bench;

constexpr std::uint64_t multiplier =
    2654435769u; // spreads hot ranks over the keys (Knuth's, 2^32 over the golden ratio)

struct index_options {
    std::uint64_t keys = 8'000'000;
    double skew = 0.2;
    unsigned reads_percent = 50;
    std::string lock = "rwlock";
};

class mutex {
public:
    void lock_to_read() { pthread_mutex_lock(&mutex_); }
    void lock_to_write() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class rwlock {
public:
    void lock_to_read() { pthread_rwlock_rdlock(&lock_); }
    void lock_to_write() { pthread_rwlock_wrlock(&lock_); }
    void unlock() { pthread_rwlock_unlock(&lock_); }

private:
    pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

// A value is a count and its check, so that what was written by two at once can be told.
std::uint64_t sealed(std::uint64_t count) {
    return count << 32 | random_numbers(count).next() >> 32;
}

std::uint64_t unsealed(std::uint64_t value) {
    std::uint64_t count = value >> 32;
    expect(value == sealed(count), "a value has been damaged");
    return count;
}

// Made of the keys 0 to count - 1, which stay: an operation changes values, not the tree's shape.
template <class Lock>
class btree {
public:
    explicit btree(std::uint64_t count) {
        levels_.push_back(make_leaves(count));
        while (levels_.back().size() > 1)
            levels_.push_back(make_parents(levels_.back()));
    }

    std::uint64_t lookup(std::uint64_t key) {
        node *leaf = descend(key, [](node &at) { at.lock.lock_to_read(); });
        std::uint64_t value = leaf->values[leaf->position_of(key)];
        leaf->lock.unlock();
        return unsealed(value);
    }

    void update(std::uint64_t key) {
        node *leaf = descend(key, [](node &at) {
            if (at.is_leaf)
                at.lock.lock_to_write();
            else
                at.lock.lock_to_read();
        });
        std::uint64_t &value = leaf->values[leaf->position_of(key)];
        std::uint64_t before = value;
        value = sealed((before >> 32) + 1);
        leaf->lock.unlock();
        unsealed(before);
    }

    // Of all counts. Requires that nobody else uses the tree.
    std::uint64_t sum() const {
        std::uint64_t total = 0;
        for (const node &leaf : levels_.front()) {
            for (unsigned i = 0; i < leaf.used; i++)
                total += unsealed(leaf.values[i]);
        }
        return total;
    }

private:
    static constexpr unsigned fanout = 6;

    struct node {
        Lock lock;
        unsigned used = 0;
        bool is_leaf = true;
        std::array<std::uint64_t, fanout> keys{}; // of a child: its first
        union {
            std::array<std::uint64_t, fanout> values{};
            std::array<node *, fanout> children;
        };

        unsigned position_of(std::uint64_t key) const {
            unsigned at = used - 1;
            while (at > 0 && keys[at] > key)
                at--;
            return at;
        }
    };

    static std::vector<node> make_leaves(std::uint64_t count) {
        std::vector<node> leaves((count + fanout - 1) / fanout);
        for (std::uint64_t key = 0; key < count; key++) {
            node &leaf = leaves[key / fanout];
            leaf.values[leaf.used] = sealed(0);
            leaf.keys[leaf.used++] = key;
        }
        return leaves;
    }

    static std::vector<node> make_parents(std::vector<node> &below) {
        std::vector<node> parents((below.size() + fanout - 1) / fanout);
        for (std::size_t i = 0; i < below.size(); i++) {
            node &parent = parents[i / fanout];
            parent.is_leaf = false;
            parent.keys[parent.used] = below[i].keys[0];
            parent.children[parent.used++] = &below[i];
        }
        return parents;
    }

    template <class Take>
    node *descend(std::uint64_t key, const Take &take) {
        node *at = &levels_.back().front();
        take(*at);
        while (!at->is_leaf) {
            node *child = at->children[at->position_of(key)];
            take(*child);
            at->lock.unlock();
            at = child;
        }
        return at;
    }

    std::vector<std::vector<node>> levels_; // leaves first; a node's children are in the level before
};

// Gray et al., SIGMOD '94, section 3.3.
class key_source {
public:
    key_source(const index_options &wanted, unsigned thread)
        : keys_(wanted.keys), exponent_(std::log(wanted.skew) / std::log(1 - wanted.skew)), random_(thread + 1) {}

    std::uint64_t next() {
        auto rank = static_cast<std::uint64_t>(static_cast<double>(keys_) * std::pow(random_.next_share(), exponent_));
        return rank * multiplier % keys_;
    }
    unsigned next_percent() { return static_cast<unsigned>(random_.next() % 100); }

private:
    std::uint64_t keys_;
    double exponent_;
    random_numbers random_;
};

template <class Lock>
std::vector<figure> run(const program_options &options, const index_options &wanted) {
    btree<Lock> tree(wanted.keys);
    std::atomic<std::uint64_t> updates = 0;
    timed_run done = run_until_stopped(options, [&](unsigned thread, const stop_sign &stop) {
        key_source keys(wanted, thread);
        std::uint64_t operations = 0, updated = 0;
        for (; !stop.is_set(); operations++) {
            std::uint64_t key = keys.next();
            if (keys.next_percent() < wanted.reads_percent) {
                tree.lookup(key);
            } else {
                tree.update(key);
                updated++;
            }
        }
        updates += updated;
        return operations;
    });
    expect(tree.sum() == updates, "the index has lost updates");
    return {{"index", done.operations_a_second()}};
}

} // namespace

int main(int argc, char **argv) {
    index_options wanted;
    program what{
        .name = "btree-index",
        .summary = "A B+-tree with a lock in every node: lookups and updates.",
        .options = {{"--keys", wanted.keys, 1, std::uint64_t{1} << 31, "Number of keys, six in a leaf"},
                    {"--skew", wanted.skew, 0.001, 0.5, "This share of the keys gets all but this share of the work"},
                    {"--reads", wanted.reads_percent, 0, 100, "Percent of the operations that are lookups"},
                    {"--lock", wanted.lock, {"mutex", "rwlock"}, "What is in a node"}},
        .run = [&wanted](const program_options &options) {
            return wanted.lock == "mutex" ? run<mutex>(options, wanted) : run<rwlock>(options, wanted);
        }};
    return program_main(argc, argv, what);
}
