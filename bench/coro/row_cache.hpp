// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of a store that were read last, for a task that has the lock: what many programs keep in front of a
// database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace holdfast::bench {

class row_cache {
public:
    explicit row_cache(std::size_t capacity) : capacity_(capacity) { places_.reserve(capacity); }

    // False when it is not here.
    bool find(std::string_view key, std::string &value) {
        lookups_++;
        auto found = places_.find(key);
        if (found == places_.end())
            return false;
        rows_.splice(rows_.begin(), rows_, found->second);
        value = found->second->value;
        return true;
    }

    // Where there is no room, in place of the row that was not read for the longest time. Somebody else may have
    // inserted it since the caller looked.
    void insert(std::string_view key, std::string_view value) {
        if (places_.contains(key))
            return;
        if (rows_.size() < capacity_) {
            rows_.emplace_front();
        } else {
            places_.erase(rows_.back().key);
            rows_.splice(rows_.begin(), rows_, std::prev(rows_.end()));
        }
        row &newest = rows_.front();
        newest.key = key;
        newest.value = value;
        places_.emplace(newest.key, rows_.begin());
    }

    std::uint64_t lookups() const noexcept { return lookups_; }

private:
    struct row {
        std::string key, value;
    };

    std::size_t capacity_;
    std::list<row> rows_; // the newest first
    std::unordered_map<std::string_view, std::list<row>::iterator> places_;
    std::uint64_t lookups_ = 0;
};

} // namespace holdfast::bench
