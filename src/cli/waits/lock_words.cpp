// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/waits/lock_words.hpp"

#include <algorithm>

#include "monitor/bpf/futex_look.h"

namespace holdfast::cli {
namespace {

void take(std::uint64_t part, std::uint64_t &from) {
    from -= std::min(part, from); // they were not read at one moment
}

} // namespace

bool is_lock_word(const hf_futex_totals &word, bool in_musl) {
    constexpr double nearly_all = 0.9;
    bool looks_like_it =
        static_cast<double>(word.lock_waits) >= nearly_all * static_cast<double>(word.sleeps) && word.lock_waits != 0;
    return looks_like_it && !(in_musl && 2 * word.twos > word.lock_waits);
}

bool is_lock_sleeper(const hf_futex_sleeper &sleeper, const std::vector<futex_waits> &words, bool in_musl) {
    auto word = std::ranges::find(words, sleeper.key.address, [](const auto &each) { return each.key.address; });
    hf_futex_totals totals = word == words.end() ? hf_futex_totals{} : word->totals;
    totals.sleeps++; // this one
    totals.lock_waits++;
    totals.twos += (sleeper.look & HF_FUTEX_IS_TWO) != 0;
    return is_lock_word(totals, in_musl);
}

lock_totals lock_totals::of(const hf_futex_totals &process, const std::vector<futex_waits> &words, bool in_musl) {
    lock_totals found{.all = process};
    for (const futex_waits &each : words) {
        if (each.totals.lock_waits == 0)
            continue;
        if (is_lock_word(each.totals, in_musl)) {
            found.words.push_back(each);
            continue;
        }
        take(each.totals.lock_waits, found.all.lock_waits);
        take(each.totals.lock_waited_ns, found.all.lock_waited_ns);
        for (unsigned i = 0; i < HF_FUTEX_BUCKETS; i++)
            found.all.bucket[i] -= std::min(each.totals.bucket[i], found.all.bucket[i]);
    }
    // The longest may have been one of those: each lock's is known.
    if (found.all.lock_waits != process.lock_waits) {
        found.all.longest_ns = 0;
        for (const futex_waits &each : found.words)
            found.all.longest_ns = std::max(found.all.longest_ns, each.totals.longest_ns);
    }
    return found;
}

} // namespace holdfast::cli
