// SPDX-License-Identifier: MIT OR Apache-2.0
// Adaptive spin-then-park with a set limit, as in Solaris and in glibc's PTHREAD_MUTEX_ADAPTIVE_NP: a waiter polls
// about twice as long as polling has lately taken here, never longer than the limit, and then sleeps. States and
// invariants of the word: park/word_lock.h.
#include <algorithm>
#include <cstdint>

#include "park/word_lock.h"
#include "peers/peer.hpp"

namespace holdfast::bench {
namespace {

constexpr std::int32_t polls_max = 1000;
constexpr std::int32_t polls_min = 10;

class spin_then_park {
public:
    bool try_lock() { return hf_word_trylock(&word_, HF_WORD_HELD); }

    void lock() {
        if (!try_lock() && !spin())
            hf_word_lock_blocking(&word_, nullptr);
    }

    void unlock() { hf_word_unlock(&word_); }

private:
    bool spin() {
        std::int32_t usual = hf_load_relaxed(&usual_polls_);
        std::int32_t limit = std::min(polls_max, 2 * usual + polls_min), polls = 0;
        bool taken = false;
        while (!taken && polls++ < limit) {
            hf_pause();
            taken = hf_load_relaxed(&word_) == HF_WORD_FREE && try_lock();
        }
        // A mean that forgets; written by several at once, of whom any may be right.
        hf_store_relaxed(&usual_polls_, usual + (polls - usual) / 8);
        return taken;
    }

    std::uint32_t word_;
    std::int32_t usual_polls_;
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(spin_then_park, holdfast::bench::spin_then_park)
