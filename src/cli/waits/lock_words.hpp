// SPDX-License-Identifier: MIT OR Apache-2.0
// Which of the words that a process sleeps at are locks', as far as the kernel's counts tell without stacks.
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <vector>

#include "monitor/futex_watch.hpp"

namespace holdfast::cli {

// A lock's word looks like one whenever a thread sleeps at it; a count that a condition variable or a barrier keeps
// looks like one in passing. Of many sleeps a few may be of what lay there before. In musl conditions and joins look
// like other libraries' locks (futex_look.h).
bool is_lock_word(const hf_futex_totals &word, bool in_musl);

// Does a thread that sleeps now sleep for a lock? `words`: of its process.
bool is_lock_sleeper(const hf_futex_sleeper &sleeper, const std::vector<futex_waits> &words, bool in_musl);

// Of a process, and of each of its words: what is no lock's is among its other sleeps.
struct lock_totals {
    hf_futex_totals all{};
    std::vector<futex_waits> words{}; // of locks

    // `process` and `words` as the watch counted them.
    static lock_totals of(const hf_futex_totals &process, const std::vector<futex_waits> &words, bool in_musl);
};

} // namespace holdfast::cli
