// SPDX-License-Identifier: MIT OR Apache-2.0
// What the kernel shows of waiting in futexes, of any process: loaded into it for as long as this object lives.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "monitor/bpf/futex_wait_totals.h"
#include "monitor/older_waits.hpp"

namespace holdfast {

// Why there is none: one sentence, with what to do about it.
class futex_watch_unavailable : public std::runtime_error {
public:
    explicit futex_watch_unavailable(const std::string &sentence, std::string log = "")
        : std::runtime_error(sentence), log_(std::move(log)) {}
    const std::string &log() const { return log_; }

private:
    std::string log_;
};

struct futex_waits {
    hf_futex_key key;
    hf_futex_totals totals;
};

class futex_watch {
public:
    // Throws futex_watch_unavailable.
    futex_watch();
    ~futex_watch();
    futex_watch(const futex_watch &) = delete;
    futex_watch &operator=(const futex_watch &) = delete;

    // The sleeps that have ended since it was loaded, by process and by word, in no order.
    std::vector<futex_waits> read() const;
    // The threads that sleep for a lock now, those included that slept before it was loaded, unless they are hidden.
    std::vector<hf_futex_sleeper> sleepers() const;
    older_waits sees_older() const;
    // Makes room: of a process that has ended, say. A sleep that ends later brings the key back.
    void forget(const hf_futex_key &key) const;
    // Sleeps that are missing above, for want of room.
    std::uint64_t uncounted_total() const;

private:
    struct loaded;
    std::unique_ptr<loaded> loaded_;
};

} // namespace holdfast
