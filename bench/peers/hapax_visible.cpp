// SPDX-License-Identifier: MIT OR Apache-2.0
// Hapax lock with visible waiters: a waiter puts its predecessor's number into that number's slot and polls it. An
// owner that leaves and finds its own number there clears the slot, and has handed over without a look at `arrive` or
// `depart`.
//
//     0 --- a waiter --> the number it waits for --- that number's owner, or the waiter, who saw `depart` --> 0
//
// A waiter whose slot somebody else uses polls `depart` instead. Nobody is lost: the waiter writes the slot, then reads
// `depart`; the owner writes `depart`, then reads the slot; of these four, in one order for all, a read sees a write.
#include "peers/hapax.hpp"

#include "peers/peer.hpp"

namespace holdfast::bench {
namespace {

waiting_array waiting; // zeroed

bool replace(std::uint64_t *slot, std::uint64_t from, std::uint64_t to) {
    return __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

class visible_waiters : public hapax_words {
public:
    void lock() {
        hapax mine = new_hapax();
        hapax before = hf_exchange_relaxed(&arrive_, mine);
        if (hf_load_acquire(&depart_) != before)
            wait_for(before);
        owner_ = mine;
    }

    void unlock() {
        hapax mine = owner_;
        std::uint64_t &slot = waiting.slot_of(mine);
        // Acquire: a waiter of another lock, cleared from here before, may see our clearing in place of its owner's.
        if (hf_load_acquire(&slot) == mine) {
            hf_store_release(&slot, hapax{0}); // nobody else writes it: the waiter finds no `depart`
            return;
        }
        __atomic_store_n(&depart_, mine, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&slot, __ATOMIC_SEQ_CST) == mine)
            replace(&slot, mine, 0); // unless the waiter has withdrawn
    }

private:
    void wait_for(hapax before) {
        std::uint64_t &slot = waiting.slot_of(before);
        if (!replace(&slot, 0, before)) {
            while (hf_load_acquire(&depart_) != before)
                hf_pause();
        } else if (__atomic_load_n(&depart_, __ATOMIC_SEQ_CST) == before) {
            replace(&slot, before, 0); // unless the owner has cleared it
        } else {
            while (hf_load_acquire(&slot) == before) // pairs with the owner's clearing
                hf_pause();
        }
    }
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(hapax_visible, holdfast::bench::visible_waiters)
