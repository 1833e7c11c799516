// SPDX-License-Identifier: MIT OR Apache-2.0
// Anderson's array-based queue lock (TPDS '90, section IV): a ticket names a slot of the lock's own array, and its
// waiter polls that slot, which the owner before it sets.
//
// The paper wants a slot for every thread. Here a ticket that would share its slot with one that still waits first
// polls `entered`, the number of tickets whose owner has come in:
//
//     ticket >= entered + slots    not yet its slot's          polls `entered`
//     ticket <  entered + slots    the slot is its alone       polls slot[ticket mod slots]
//
// Exclusion: the owner of ticket t alone sets the slot of t + 1, and clears its own before it lets t + slots at it.
// Tickets have 64 bits and do not wrap, so number 0 is the first ever, which has nobody to wait for.
#pragma once

#include <array>
#include <cstdint>

#include "base/atomic.h"
#include "base/cpu.h"

namespace holdfast::bench {

template <std::uint64_t slots>
class array_lock {
public:
    void lock() {
        std::uint64_t ticket = hf_fetch_add_relaxed(&next_, 1);
        while (ticket >= hf_load_acquire(&entered_) + slots) // pairs with the release below
            hf_pause();
        std::uint32_t &go = slot_of(ticket);
        while (ticket != 0 && !hf_load_acquire(&go)) // pairs with the release in unlock()
            hf_pause();
        hf_store_relaxed(&go, std::uint32_t{false});
        hf_store_release(&entered_, ticket + 1);
        owner_ = ticket;
    }

    void unlock() { hf_store_release(&slot_of(owner_ + 1), std::uint32_t{true}); }

private:
    struct alignas(HF_CACHE_LINE_BYTES) slot {
        std::uint32_t go;
    };
    std::uint32_t &slot_of(std::uint64_t ticket) { return slots_[ticket % slots].go; }

    alignas(HF_CACHE_LINE_BYTES) std::uint64_t next_;
    alignas(HF_CACHE_LINE_BYTES) std::uint64_t entered_;
    std::uint64_t owner_; // its ticket
    std::array<slot, slots> slots_;
};

} // namespace holdfast::bench
