// SPDX-License-Identifier: MIT OR Apache-2.0
// A B+-tree store of records by key, as embedded stores keep them: leaves in order, each an array of keys and one of
// records. Finding searches; inserting moves half a leaf on the average, and splits it when it is full. Nothing in it
// locks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>

namespace holdfast::bench {

struct record {
    std::array<std::uint64_t, 8> words;
};

class ordered_store {
public:
    ordered_store() { leaves_.emplace(0, std::make_unique<leaf>()); }

    // The record, or NULL. Valid until the next insertion.
    const record *find(std::uint64_t key) const {
        const leaf &in = *leaf_of(key)->second;
        unsigned at = in.position_of(key);
        return at < in.used && in.keys[at] == key ? &in.records[at] : nullptr;
    }

    // False: there is one already.
    bool insert(std::uint64_t key, const record &what) {
        leaf *in = leaf_of(key)->second.get();
        unsigned at = in->position_of(key);
        if (at < in->used && in->keys[at] == key)
            return false;
        if (in->used == leaf_records) {
            leaf *right = split(*in);
            if (key >= right->keys[0])
                in = right;
            at = in->position_of(key);
        }
        std::memmove(&in->keys[at + 1], &in->keys[at], (in->used - at) * sizeof(in->keys[0]));
        std::memmove(&in->records[at + 1], &in->records[at], (in->used - at) * sizeof(in->records[0]));
        in->keys[at] = key;
        in->records[at] = what;
        in->used++;
        return true;
    }

    // Calls visit(key, record) in the order of the keys.
    template <class Visit>
    void visit_all(const Visit &visit) const {
        for (const auto &[first, in] : leaves_)
            for (unsigned i = 0; i < in->used; i++)
                visit(in->keys[i], in->records[i]);
    }

private:
    static constexpr unsigned leaf_records = 1024;

    struct leaf {
        unsigned used = 0;
        std::array<std::uint64_t, leaf_records> keys;
        std::array<record, leaf_records> records;

        unsigned position_of(std::uint64_t key) const {
            return static_cast<unsigned>(std::lower_bound(keys.begin(), keys.begin() + used, key) - keys.begin());
        }
    };
    // What is above the leaves, by the first key that belongs into each. A balanced tree; that it is not one of wide
    // nodes matters little, as it is small.
    using leaf_map = std::map<std::uint64_t, std::unique_ptr<leaf>>;

    leaf_map::const_iterator leaf_of(std::uint64_t key) const { return std::prev(leaves_.upper_bound(key)); }

    leaf *split(leaf &full) {
        auto right = std::make_unique<leaf>();
        constexpr unsigned half = leaf_records / 2;
        std::copy(full.keys.begin() + half, full.keys.end(), right->keys.begin());
        std::copy(full.records.begin() + half, full.records.end(), right->records.begin());
        full.used = half;
        right->used = leaf_records - half;
        return leaves_.emplace(right->keys[0], std::move(right)).first->second.get();
    }

    leaf_map leaves_;
};

} // namespace holdfast::bench
