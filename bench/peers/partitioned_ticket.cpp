// SPDX-License-Identifier: MIT OR Apache-2.0
// Partitioned ticket lock (Dice, SPAA '11, brief announcement): tickets as in a ticket lock, but the number being
// served is announced in the place that belongs to it, ticket mod places, so that a waiter shares its line with few
// others.
//
// Exclusion: no two threads have the same ticket (it wraps at 2^64), and only the owner of t announces t + 1.
#include "peers/peer.hpp"

#include <array>
#include <cstdint>

#include "base/atomic.h"
#include "base/cpu.h"

namespace holdfast::bench {
namespace {

class partitioned_ticket {
public:
    void lock() {
        std::uint64_t ticket = hf_fetch_add_relaxed(&next_, 1);
        while (hf_load_acquire(&serving(ticket)) != ticket) // pairs with the release in unlock()
            hf_pause();
        owner_ = ticket;
    }

    bool try_lock() {
        std::uint64_t ticket = hf_load_relaxed(&next_);
        if (hf_load_acquire(&serving(ticket)) != ticket || !hf_cas_acquire(&next_, ticket, ticket + 1))
            return false;
        owner_ = ticket;
        return true;
    }

    void unlock() { hf_store_release(&serving(owner_ + 1), owner_ + 1); }

private:
    static constexpr std::uint64_t places = 16;

    struct alignas(HF_CACHE_LINE_BYTES) place {
        std::uint64_t serving;
    };
    std::uint64_t &serving(std::uint64_t ticket) { return places_[ticket % places].serving; }

    alignas(HF_CACHE_LINE_BYTES) std::uint64_t next_;
    alignas(HF_CACHE_LINE_BYTES) std::uint64_t owner_;
    std::array<place, places> places_;
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(partitioned_ticket, holdfast::bench::partitioned_ticket)
