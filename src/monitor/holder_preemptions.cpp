// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/holder_preemptions.hpp"

#include <algorithm>
#include <bpf/bpf.h>
#include <cerrno>

#include "base/clock.h"

namespace holdfast {
namespace {

// To read all of the map takes a millisecond: a process that asks for many processes, or often, gets what was read
// before.
constexpr std::uint64_t reads_apart_ns = 50'000'000;

bool was_away_longer(const hf_lock_absences &one, const hf_lock_absences &other) {
    return one.holders.preempted_ns > other.holders.preempted_ns;
}

} // namespace

void holder_preemptions::read() {
    keys_.resize(HF_ABSENCE_LOCKS);
    holders_.resize(HF_ABSENCE_LOCKS);
    std::uint32_t count = HF_ABSENCE_LOCKS;
    std::uint32_t after = 0;
    // ENOENT: these were all.
    bool all = bpf_map_lookup_batch(map_, nullptr, &after, keys_.data(), holders_.data(), &count, nullptr) == 0 ||
               errno == ENOENT;
    keys_.resize(all ? count : 0);
    holders_.resize(keys_.size());
}

void holder_preemptions::tell(std::uint64_t followed_since_ns, hf_process_absences &told) {
    std::uint64_t now_ns = hf_monotonic_ns();
    if (read_at_ns_ == 0 || now_ns - read_at_ns_ > reads_apart_ns) {
        read();
        read_at_ns_ = now_ns;
    }
    std::vector<hf_lock_absences> found;
    for (std::size_t i = 0; i < keys_.size(); i++) {
        if (keys_[i].followed_since_ns != followed_since_ns)
            continue;
        const hf_holder_absences &holders = holders_[i];
        found.push_back({.lock = keys_[i].lock, .holders = holders});
        told.preemptions += holders.preemptions;
        told.preempted_ns += holders.preempted_ns;
        told.sleeps += holders.sleeps;
        told.asleep_ns += holders.asleep_ns;
    }
    std::ranges::sort(found, was_away_longer);
    told.count = std::min<std::size_t>(found.size(), HF_ABSENCES_A_REPLY);
    std::copy_n(found.begin(), told.count, told.each);
}

} // namespace holdfast
