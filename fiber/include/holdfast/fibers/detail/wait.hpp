// SPDX-License-Identifier: MIT OR Apache-2.0
// How a fiber waits, and what becomes of one that was chosen: combine-and-exchange scheduling (CES).
//
// König, Epple, Becker, "Minimize Your Critical Path with Combine-and-Exchange Locks": a fiber that unlocks gives this
// thread to the next owner at once, and goes where other threads can take it. Here: Boost's resume(self) switches to
// the next owner and then makes `self` ready in the program's scheduling algorithm.
//
// fiber.C1  A fiber is exchanged only for one that may run on this thread: of the same group, or of this scheduler.
// fiber.C2  A chain of hand-overs on one thread is at most chain_max long: then this thread takes one of the others.
// fiber.C3  A fiber that handles an exception is not exchanged, and the one that a thread began with neither: the
//     first would handle it on another thread, the second comes last in Boost's algorithms.
#pragma once

#include <boost/fiber/context.hpp>

#include "holdfast/fibers/detail/exception_state.hpp"
#include "holdfast/fibers/detail/group.hpp"
#include "holdfast/fibers/detail/waiter.hpp"

namespace holdfast::fibers::detail {

inline constexpr unsigned chain_max = 64;

// Where a fiber that waits on this thread may be resumed by others; null for one that a thread began with.
inline group *home_here(const context *self) noexcept {
    worker *here = worker_here();
    return here && !self->is_context(boost::fibers::type::pinned_context) ? here->home : nullptr;
}

// Suspends the caller, whose `own` is linked, until it is chosen. Requires that own.home is home_here().
inline void wait(waiter &own) noexcept {
    if (!own.home) {
        boost::fibers::detail::spinlock_lock off{own.off};
        if (own.advance(wait_state::arming, wait_state::switching)) {
            own.fiber->suspend(off);
            off.lock(); // fiber.W4
        }
        return;
    }
    if (!own.advance(wait_state::arming, wait_state::switching))
        return;
    worker_here()->suspending = &own; // ces<>::awakened() takes it from there
    own.fiber->yield();
}

// After `one` was taken out of its list. True when it is off its stack, and the caller must resume it; else it goes
// on by itself, and must not be touched (fiber.W2).
inline bool to_be_resumed(waiter &one) noexcept {
    for (polling wait;; wait.once()) {
        wait_state seen = one.state.load(std::memory_order_acquire); // pairs with advance()
        if (seen == wait_state::suspended)
            return true;
        if (seen == wait_state::switching && !one.home) {
            std::lock_guard until_off(one.off);
            return true;
        }
        // Switching takes less time than a place in a queue, but its thread may have lost its CPU.
        if ((seen == wait_state::arming || !wait.is_new()) && one.advance(seen, wait_state::chosen))
            return false;
    }
}

// Requires one to_be_resumed().
inline void make_ready(waiter &one) noexcept {
    context *self = context::active();
    if (!one.home) {
        std::lock_guard until_told(one.off); // fiber.W4
        self->schedule(one.fiber);
        return;
    }
    worker *here = worker_here();
    if (!here || here->home != one.home) {
        one.home->bring(one);
        return;
    }
    self->attach(one.fiber);
    self->schedule(one.fiber);
}

inline void wake(waiter &one) noexcept {
    if (one.parked)
        one.parked->wake();
    else if (to_be_resumed(one))
        make_ready(one);
}

// Where the caller may be exchanged, or null (fiber.C3).
inline worker *exchange_here(const context *self) noexcept {
    worker *here = worker_here();
    bool may = here && !self->is_context(boost::fibers::type::pinned_context) && !handles_exception();
    return may ? here : nullptr;
}

// fiber.C1. Requires that next.home is known.
inline bool may_run_here(const worker &here, const context *self, const waiter &next) noexcept {
    if (next.parked)
        return false;
    return next.home ? next.home == here.home : next.fiber->get_scheduler() == self->get_scheduler();
}

// fiber.C2. The next owner goes to the first thread that comes by, but this one takes another fiber first.
inline void end_chain(worker &here, context *self, waiter &next) noexcept {
    here.chain = 0;
    if (next.home) {
        here.others_first = true;
        here.home->bring(next);
    } else {
        self->schedule(next.fiber);
    }
    self->yield();
}

inline void exchange(context *self, waiter &next) noexcept {
    context *fiber = next.fiber;
    if (next.home)
        self->attach(fiber);
    fiber->resume(self);
}

// What an unlock ends with: `next`, which may run here, is the owner. The caller may go on on another thread.
inline void hand_over(worker &here, context *self, waiter &next) noexcept {
    if (!to_be_resumed(next))
        return;
    if (++here.chain >= chain_max)
        end_chain(here, self, next);
    else
        exchange(self, next);
}

} // namespace holdfast::fibers::detail
