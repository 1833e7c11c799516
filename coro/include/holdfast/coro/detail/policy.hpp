// SPDX-License-Identifier: MIT OR Apache-2.0
// What runs next on this thread when a coroutine gives a lock to another: the idea of the library, and its yardsticks.
//
//   ces        the unlocker is suspended and queued where any worker can take it; the next owner runs here, at once.
//              Nobody has to wait for a thread while it has the lock. Where there is no other worker that could take
//              it, the unlocker goes on when the next owner is suspended, with its caches as it left them.
//   dispatch   the next owner is queued and the unlocker goes on. What Tokio and Kotlin do.
//   inline_    the next owner runs here at once, and the unlocker on this thread after it. What cppcoro and folly do.
//
// CES is from König, Epple, Becker, "Minimize Your Critical Path with Combine-and-Exchange Locks".
#pragma once

#include <new>

#include "holdfast/coro/detail/waiter.hpp"

namespace holdfast::coro {

enum class policy { ces, dispatch, inline_ };

namespace detail {

// A chain of hand-overs has become long: others wait for this thread too. The next owner goes to the first worker that
// comes by, which is running for certain; its home worker, if that is another, may just have lost its CPU. This worker
// takes one of the others first.
inline void end_chain(run_context &context, waiter &next) noexcept {
    context.chain = 0;
    context.others_first = true;
    next.how = passage::chain_end;
    schedule_owner(next);
}

// One more hand-over on this thread. True when it is one too many; until this worker has taken one of the others there
// is none after it, by those that were deferred either.
inline bool chain_ends(run_context &context) noexcept {
    return context.others_first || ++context.chain >= context.chain_max;
}

inline void defer(run_context &context, std::coroutine_handle<> self, deferred &frame) noexcept {
    ::new (&frame) deferred{self, context.deferred_top}; // awaiters spare its initialization: most need it not
    context.deferred_top = &frame;
}

inline bool exchange(std::coroutine_handle<> self, waiter &next, deferred &frame, passage how) noexcept {
    run_context *context = current_context();
    if (!context || !context->home || next.home != context->home) {
        schedule_owner(next); // a coroutine stays on its executor
        return false;
    }
    executor_base *home = context->home;
    if (chain_ends(*context)) {
        end_chain(*context, next);
        home->schedule_rotated(self);
        return true;
    }
    next.how = how;
    std::coroutine_handle<> handle = next.handle; // coro.W3: as soon as `self` is queued, all may be gone
    if (context->alone)
        defer(*context, self, frame);
    else
        home->schedule_rotated(self);
    pass_on(*context, handle);
    return true;
}

inline bool run_before(std::coroutine_handle<> self, waiter &next, deferred &frame, passage how) noexcept {
    run_context *context = current_context();
    if (!context || !context->home || next.home != context->home) {
        schedule_owner(next);
        return false;
    }
    next.how = how;
    defer(*context, self, frame);
    pass_on(*context, next.handle);
    return true;
}

} // namespace detail

// Gives this thread, or a place in a queue, to `next`, which has just been given a lock by `self`. Called in
// await_suspend; true when `self` stays suspended. `frame` is in `self`'s awaiter. Nothing of the awaiter may be
// touched after it. `how` is what a waiter that runs here at once is counted as.
template <policy Policy>
[[nodiscard]] bool hand_over(std::coroutine_handle<> self, waiter &next, deferred &frame,
                             passage how = passage::at_once) noexcept {
    if constexpr (Policy == policy::ces) {
        return detail::exchange(self, next, frame, how);
    } else if constexpr (Policy == policy::inline_) {
        return detail::run_before(self, next, frame, how);
    } else {
        schedule(next);
        return false;
    }
}

// Where the caller can't be suspended: the next owner is queued, under CES ahead of what is merely ready.
template <policy Policy>
void hand_over_unsuspended(waiter &next) noexcept {
    if constexpr (Policy == policy::ces)
        schedule_owner(next);
    else
        schedule(next);
}

// Where the caller is suspended anyway, to wait for something else: `next` gets its thread, under CES until the chain
// ends.
template <policy Policy>
void hand_over_suspended(waiter &next) noexcept {
    run_context *context = current_context();
    if (Policy == policy::dispatch || !context || !context->home || context->home != next.home) {
        hand_over_unsuspended<Policy>(next);
    } else if (Policy == policy::ces && detail::chain_ends(*context)) {
        detail::end_chain(*context, next);
    } else {
        next.how = passage::at_once;
        pass_on(*context, next.handle);
    }
}

} // namespace holdfast::coro
