// SPDX-License-Identifier: MIT OR Apache-2.0
// How one waiter waits that never sleeps, and how its predecessor lets it go on: parking_word without the parking.
//
//     waiting --- the predecessor, once ---> granted
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/cpu.h"

namespace holdfast::bench {

class spinning_word {
public:
    bool is_granted() const { return hf_load_acquire(&granted_); } // pairs with grant()

    // Returns when granted. Calls while_spinning() after each poll.
    template <class Action>
    void wait(const Action &while_spinning) {
        while (!is_granted()) {
            while_spinning();
            hf_pause();
        }
    }
    void wait() {
        wait([] {});
    }

    // The waiter's node may be another's when this returns.
    void grant() { hf_store_release(&granted_, std::uint32_t{true}); }

    void wake_ahead() {} // nobody sleeps

private:
    std::uint32_t granted_ = false;
};

} // namespace holdfast::bench
