// SPDX-License-Identifier: MIT OR Apache-2.0
// Hapax lock: a thread that leaves says so in `depart` and writes its number into the number's slot, at which the
// waiter for that number polls for a change, whoever makes it, and then looks at `depart`.
//
// Nobody is lost: the slot changes after `depart`, so a waiter that read the slot and then found `depart` unchanged
// sees it change. Where two owners write one slot, the language orders neither's `depart` before the other's write;
// therefore the waiter looks at `depart` now and then whatever the slot has.
#include "peers/hapax.hpp"

#include "peers/peer.hpp"

namespace holdfast::bench {
namespace {

waiting_array waiting; // zeroed

class invisible_waiters : public hapax_words {
public:
    void lock() {
        hapax mine = new_hapax();
        wait_for(hf_exchange_relaxed(&arrive_, mine));
        owner_ = mine;
    }

    void unlock() {
        hapax mine = owner_;
        hf_store_release(&depart_, mine);
        hf_store_release(&waiting.slot_of(mine), mine);
    }

private:
    static constexpr int slot_polls = 1024; // before `depart` is looked at again

    void wait_for(hapax before) {
        std::uint64_t &slot = waiting.slot_of(before);
        for (;;) {
            std::uint64_t seen = hf_load_acquire(&slot);
            if (hf_load_acquire(&depart_) == before) // both pair with the releases in unlock()
                return;
            for (int polls = 0; polls < slot_polls && hf_load_relaxed(&slot) == seen; polls++)
                hf_pause();
        }
    }
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(hapax, holdfast::bench::invisible_waiters)
