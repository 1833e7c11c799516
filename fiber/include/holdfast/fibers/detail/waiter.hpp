// SPDX-License-Identifier: MIT OR Apache-2.0
// A fiber that waits for a lock or a condition, and the list of such. It lies on the fiber's own stack.
//
//   stealable   any thread of its group may resume it: it is on no scheduler's list while it waits. Those of an
//               algorithm under ces<> that moves fibers between threads.
//   attached    only its scheduler's thread may: the fiber that a thread began with, fibers of an algorithm that
//               keeps them, and all where there is no ces<>.
//   timed       attached, and waits until a deadline: parker.hpp.
//
//                     waiter                  its thread, once it is off
//      ARMING -----------------> SWITCHING -----------------------------> SUSPENDED     (stealable alone)
//        |  \                        |
//        |   \ timed: deadline       | waker, which has polled long enough
//        |    v                      v
//        |  CANCELLED             CHOSEN: its own thread makes it ready
//        v
//      CHOSEN: the waiter does not suspend itself
//
// fiber.W1  A waiter is resumed once. Its waker is the one that took it out of the list, and resumes it only when it
//     is off its stack: SUSPENDED, or `off` unlocked.
// fiber.W2  A waiter's memory is not touched after it is made ready (attached: `off` is unlocked after that), or after
//     CHOSEN was stored: it may be gone.
// fiber.W3  A fiber is linked in a scheduler's list by that scheduler's thread alone, and unlinked by it alone.
// fiber.W4  A waiter that is attached goes on only when its waker has let go of its thread: Boost makes a fiber ready,
//     and then tells its thread's algorithm, which ends with the thread. `off` is held meanwhile.
// Model: verify/fiber/mutex.pml.
#pragma once

#include <atomic>
#include <boost/fiber/context.hpp>
#include <cstdint>
#include <mutex>

#include "holdfast/fibers/detail/parker.hpp"
#include "holdfast/fibers/detail/spin_guard.hpp"

namespace holdfast::fibers::detail {

using boost::fibers::context;
class group;

enum class wait_state : std::uint8_t { arming, switching, suspended, chosen, cancelled };

struct waiter {
    explicit waiter(context *self) noexcept : fiber(self) {}
    waiter(context *self, parker &until) noexcept : fiber(self), parked(&until) {}
    waiter(const waiter &) = delete;
    waiter &operator=(const waiter &) = delete;

    bool advance(wait_state from, wait_state to) noexcept {
        return state.compare_exchange_strong(from, to, std::memory_order_acq_rel);
    }

    context *fiber;
    parker *parked = nullptr; // timed
    group *home = nullptr;    // stealable; known from SWITCHING on, in a lock's list from the start
    waiter *next = nullptr;
    waiter *previous = nullptr;
    bool linked = false;  // under the guard of what it waits for
    bool granted = false; // it was made the owner; else it is to try again
    std::atomic<wait_state> state = wait_state::arming;
    boost::fibers::detail::spinlock off; // attached: held until the fiber is off its stack, and by its waker
};

// Under its owner's guard.
class wait_list {
public:
    bool empty() const noexcept { return !first_; }
    void append(waiter &one) noexcept {
        one.next = nullptr;
        one.previous = last_;
        (last_ ? last_->next : first_) = &one;
        last_ = &one;
        one.linked = true;
    }
    void remove(waiter &one) noexcept {
        if (!one.linked)
            return;
        (one.next ? one.next->previous : last_) = one.previous;
        (one.previous ? one.previous->next : first_) = one.next;
        one.linked = false;
    }
    waiter *take_first() noexcept {
        waiter *one = first_;
        if (one)
            remove(*one);
        return one;
    }
    // The first that has not given up, or null.
    waiter *choose() noexcept {
        while (waiter *one = take_first())
            if (!one->parked || one->advance(wait_state::arming, wait_state::chosen))
                return one;
        return nullptr;
    }

private:
    waiter *first_ = nullptr;
    waiter *last_ = nullptr;
};

} // namespace holdfast::fibers::detail
