// SPDX-License-Identifier: MIT OR Apache-2.0
// What the two Hapax locks (Dice and Kogan, PPoPP '26, arXiv 2511.14608) have in common. Each acquisition, of whatever
// lock, has a number that no other ever has. A thread leaves its number in the lock, takes the one that was there,
// and waits until the acquisition of that number has ended. Only numbers pass between threads, so there are no nodes.
//
//     never taken: arrive 0, depart 0     free: arrive == depart     held or waited for: arrive is the last comer's
//
// Exclusion: the exchange on `arrive` gives each number but the last one waiter, which is let in when its owner leaves.
#pragma once

#include <array>
#include <cstdint>

#include "base/address_hash.h"
#include "base/atomic.h"
#include "base/cpu.h"

namespace holdfast::bench {

using hapax = std::uint64_t; // 0 is nobody's

// Threads take them in blocks, so that they rarely meet at the counter.
inline hapax new_hapax() {
    constexpr hapax block = 1 << 16;
    static hapax taken = block; // 2^64 are not used up
    thread_local hapax next = 0;
    if (next % block == 0)
        next = hf_fetch_add_relaxed(&taken, block);
    return next++;
}

// What the waiters of all locks of a kind poll. A number has one slot, which others may share.
class waiting_array {
public:
    std::uint64_t &slot_of(hapax number) { return slots_[hf_address_hash(number, slots_bits)]; }

private:
    static constexpr unsigned slots_bits = 12;

    alignas(HF_CACHE_LINE_BYTES) std::array<std::uint64_t, 1 << slots_bits> slots_;
};

class hapax_words {
public:
    bool try_lock() {
        hapax last = hf_load_relaxed(&arrive_);
        if (hf_load_acquire(&depart_) != last) // pairs with the release of what unlock() stores
            return false;
        hapax mine = new_hapax();
        if (!hf_cas_acquire(&arrive_, last, mine))
            return false;
        owner_ = mine;
        return true;
    }

protected:
    hapax arrive_, depart_, owner_;
};

} // namespace holdfast::bench
