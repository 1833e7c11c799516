// SPDX-License-Identifier: MIT OR Apache-2.0
// How one waiter waits that spins for a while and then parks, and how its predecessor lets it go on.
//
//     WAITING --- the waiter, patience at its end ---> PARKED
//     PARKED  --- another one, ahead of its turn ----> WAITING     (and a wake)
//     WAITING, PARKED --- the predecessor, once -----> GRANTED     (and a wake, if it was PARKED)
//
// P1: a waiter sleeps only while the word is PARKED, and a thread that takes the word out of PARKED wakes it. The word
// lies in an immortal node, so a wake that comes late is spurious for somebody else, who looks at its word again.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/cpu.h"
#include "park/futex.h"

namespace holdfast::bench {

enum class waiter : std::uint32_t { waiting, parked, granted };

class parking_word {
public:
    bool is_granted() const { return hf_load_acquire(&state_) == word(waiter::granted); } // pairs with grant()

    // Returns when granted. Calls while_spinning() after each poll.
    template <class Action>
    void wait(const Action &while_spinning) {
        for (;;) {
            for (int polls = 0; polls < polls_before_parking; polls++) {
                if (is_granted())
                    return;
                while_spinning();
                hf_pause();
            }
            park();
        }
    }
    void wait() {
        wait([] {});
    }

    // The waiter's node may be another's when this returns.
    void grant() {
        if (hf_exchange_acq_rel(&state_, word(waiter::granted)) == word(waiter::parked)) // P1
            hf_futex_wake(&state_, 1);
    }

    // A parked waiter spins again, before its turn.
    void wake_ahead() {
        if (hf_load_relaxed(&state_) == word(waiter::parked) &&
            hf_cas_relaxed(&state_, word(waiter::parked), word(waiter::waiting)))
            hf_futex_wake(&state_, 1);
    }

private:
    static constexpr int polls_before_parking = 1 << 12; // some 100 microseconds; a park and a wake take ten

    static constexpr std::uint32_t word(waiter state) { return static_cast<std::uint32_t>(state); }

    void park() {
        if (!hf_cas_relaxed(&state_, word(waiter::waiting), word(waiter::parked)))
            return;
        while (hf_load_relaxed(&state_) == word(waiter::parked))
            hf_futex_wait(&state_, word(waiter::parked), nullptr);
    }

    std::uint32_t state_ = word(waiter::waiting);
};

} // namespace holdfast::bench
