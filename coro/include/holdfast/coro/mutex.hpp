// SPDX-License-Identifier: MIT OR Apache-2.0
// A mutex for coroutines, first come, first served.
//
//                  try, lock: CAS                   lock: under the guard, linked
//      0 (free) --------------> HELD ------------------------------> HELD | WAITED
//               <-------------       <------------------------------
//                 unlock: CAS          unlock: under the guard, the last waiter is chosen and the owner, HELD stays
//
//      GUARD is set, in any state, by a task that changes the list of waiters; while it is set nobody else changes the
//      word.
//
// coro.M1  Exclusion. The one that moves the word out of 0 is inside, or the one that the owner chose.
// coro.M2  Nobody is forgotten: while a waiter is linked, HELD and WAITED are set; and the owner who finds WAITED looks
//     for a waiter before it lets go.
// coro.M3  The release of the word, or of the guard, is the unlocker's last touch: the next owner may destroy the
//     mutex.
// coro.M4  What waits is resumed once (coro.W1, W2 in waiter.hpp).
// coro.M5  Functions of others run inside a co_await alone. An unlock that is none, as a guard's destructor, queues the
//     next owner: it may be under a lock of its caller's which that function wants, or amid an exception.
// Models: verify/coro/mutex.pml, verify/coro/with.pml. Tests: tests/coro/mutex_test, tests/coro/stress_test.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "holdfast/coro/detail/checks.hpp"
#include "holdfast/coro/detail/policy.hpp"
#include "holdfast/coro/detail/section_awaiter.hpp"
#include "holdfast/coro/detail/spin_guard.hpp"
#include "holdfast/coro/detail/wait_awaiters.hpp"
#include "holdfast/coro/detail/waiter.hpp"
#include "holdfast/coro/guard.hpp"

namespace holdfast::coro {

template <policy Policy>
class basic_scoped_lock;

struct mutex_options {
    unsigned spins_max =
        16; // polls of a held mutex, while nobody waits for it, before the caller is suspended; 0: none
};

template <policy Policy>
class [[nodiscard]] basic_mutex {
public:
    using scoped_lock_type = basic_scoped_lock<Policy>;

    basic_mutex() = default;
    explicit basic_mutex(mutex_options options) noexcept : spins_max_(options.spins_max), spins_(options.spins_max) {}
    basic_mutex(const basic_mutex &) = delete;
    basic_mutex &operator=(const basic_mutex &) = delete;
    // Requires that nobody has it and nobody waits for it.
    ~basic_mutex() {
        detail::require(
            !(word_.load(std::memory_order_relaxed) & waited),
            "a coroutine mutex is destroyed while somebody waits for it: it must outlive its waiters' pool");
    }

    using lock_awaiter = detail::wait_for_ever<basic_mutex>;
    using limited_lock_awaiter = detail::wait_within_limits<basic_mutex>;
    using scoped_lock_awaiter = detail::guarded<lock_awaiter, scoped_lock_type>;
    using limited_scoped_lock_awaiter = detail::guarded<limited_lock_awaiter, scoped_lock_type>;
    class unlock_awaiter;
    template <critical_section Section>
    using section_awaiter = detail::section_awaiter<basic_mutex, Section, waiter>;
    template <critical_section Section>
    using limited_section_awaiter = detail::section_awaiter<basic_mutex, Section, limited_waiter>;

    // co_await m.lock(): returns once the caller has the mutex. O(1).
    [[nodiscard]] lock_awaiter lock() noexcept { return lock_awaiter(*this); }

    // co_await m.unlock(). Requires that the caller has it. Under CES the caller may go on on another thread. O(1).
    // What is not awaited unlocks where it is destroyed, without a hand-over; a debug build ends there.
    [[nodiscard]] unlock_awaiter unlock() noexcept { return unlock_awaiter(*this); }

    // auto held = co_await m.scoped_lock(); ... co_await held.unlock(); Without the last, the destructor unlocks.
    [[nodiscard]] scoped_lock_awaiter scoped_lock() noexcept { return scoped_lock_awaiter(*this); }
    // The same within limits: the guard is empty, `if (held)`, when one was reached first.
    template <class Rep, class Period>
    [[nodiscard]] limited_scoped_lock_awaiter try_scoped_lock_for(std::chrono::duration<Rep, Period> wait,
                                                                  std::stop_token token = {}) {
        return try_scoped_lock_until(deadline_after(wait), std::move(token));
    }
    [[nodiscard]] limited_scoped_lock_awaiter try_scoped_lock_until(deadline_clock::time_point deadline,
                                                                    std::stop_token token = {}) {
        return limited_scoped_lock_awaiter(*this, 0, wait_limits{deadline, std::move(token)});
    }
    [[nodiscard]] limited_scoped_lock_awaiter scoped_lock(std::stop_token token) {
        return limited_scoped_lock_awaiter(*this, 0, wait_limits{std::nullopt, std::move(token)});
    }

    // auto result = co_await m.with([&] { ... }): runs the function while the mutex is held, on this thread or on that
    // of an owner before (combining); then the caller goes on. Exceptions come out of the co_await. The fastest way.
    template <class Section>
        requires critical_section<std::decay_t<Section>>
    [[nodiscard]] section_awaiter<std::decay_t<Section>> with(Section &&section) {
        return {*this, std::forward<Section>(section)};
    }
    template <class Section>
        requires detail::awaitable<std::invoke_result_t<std::decay_t<Section> &>>
    void with(Section &&section) = delete; // a section can't suspend: use scoped_lock()
    // The same within limits: gives a std::optional of what the function returned, or whether it ran if it returns
    // nothing. It did not run when a limit was reached first.
    template <class Section>
        requires critical_section<std::decay_t<Section>>
    [[nodiscard]] limited_section_awaiter<std::decay_t<Section>> with(Section &&section, std::stop_token token) {
        return {*this, std::forward<Section>(section), {std::nullopt, std::move(token)}};
    }
    template <class Rep, class Period, class Section>
        requires critical_section<std::decay_t<Section>>
    [[nodiscard]] limited_section_awaiter<std::decay_t<Section>>
    try_with_for(std::chrono::duration<Rep, Period> wait, Section &&section, std::stop_token token = {}) {
        return try_with_until(deadline_after(wait), std::forward<Section>(section), std::move(token));
    }
    template <class Section>
        requires critical_section<std::decay_t<Section>>
    [[nodiscard]] limited_section_awaiter<std::decay_t<Section>>
    try_with_until(deadline_clock::time_point deadline, Section &&section, std::stop_token token = {}) {
        return {*this, std::forward<Section>(section), {deadline, std::move(token)}};
    }
    // Without waiting.
    template <class Section>
        requires critical_section<std::decay_t<Section>>
    [[nodiscard]] limited_section_awaiter<std::decay_t<Section>> try_with(Section &&section) {
        return try_with_until(deadline_clock::time_point::min(), std::forward<Section>(section));
    }

    // Never waits. False when somebody has it.
    [[nodiscard]] bool try_lock() noexcept {
        std::uint32_t expected = 0;
        // Acquires what the last owner did: pairs with release_word() and release_guard().
        if (!word_.compare_exchange_strong(expected, held, std::memory_order_acquire, std::memory_order_relaxed))
            return false;
        detail::section_begins(this);
        return true;
    }

    // co_await m.try_lock_for(5ms), also with a std::stop_token: false when the time is over, or the stop was
    // requested, before the caller got it. A time limit needs a caller that runs on an executor.
    template <class Rep, class Period>
    [[nodiscard]] limited_lock_awaiter try_lock_for(std::chrono::duration<Rep, Period> wait,
                                                    std::stop_token token = {}) {
        return try_lock_until(deadline_after(wait), std::move(token));
    }
    [[nodiscard]] limited_lock_awaiter try_lock_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return limited_lock_awaiter(*this, 0, {deadline, std::move(token)});
    }
    // co_await m.lock(token): false when the stop was requested before the caller got it.
    [[nodiscard]] limited_lock_awaiter lock(std::stop_token token) {
        return limited_lock_awaiter(*this, 0, {std::nullopt, std::move(token)});
    }

    // Unlocks where the caller can't be suspended: the next owner is queued. For destructors. Runs no function
    // (coro.M5).
    void unlock_unsuspended() noexcept { unlock_by(passage::queued); }

    // For its guard.
    struct guard_mode {
        static unlock_awaiter unlock(basic_mutex &of) noexcept { return of.unlock(); }
        static void give_back(basic_mutex &of) noexcept { of.unlock_by(passage::destructor); }
    };

    // For primitives that are built on a mutex ------------------------------------------------------------------------

    // Makes `one` the owner if nobody is, and else a waiter that can't be cancelled. True when it is the owner.
    [[nodiscard]] bool own_or_wait(waiter &one) noexcept {
        one.state.store(wait_state::committed, std::memory_order_release);
        std::uint32_t seen = lock_guard();
        if (!(seen & held)) {
            release_guard(held);
            return true;
        }
        detail::executor_life *inside = one.hold == home_hold::inside ? one.life : nullptr;
        one.hold = home_hold::none; // being linked keeps it there (coro.X2)
        waiters_.append(one);
        release_guard(held | waited);
        if (inside)
            inside->leave();
        return false;
    }

    // Unlocks for a caller that is suspended anyway: the next owner gets its thread.
    void unlock_suspended() noexcept {
        detail::section_ends(this);
        if (waiter *next = next_owner())
            hand_over_suspended<Policy>(*next);
    }

    // The end of a waiter whose coroutine is destroyed: it is taken out, or gives back what it never used.
    void abandon(waiter &one) noexcept {
        if (one.was(wait_state::arming))
            return;
        std::uint32_t seen = lock_guard();
        bool linked = one.linked;
        waiters_.unlink(one);
        release_guard(waiters_.empty() ? seen & ~waited : seen);
        if (!linked && (one.was(wait_state::chosen) || one.was(wait_state::committed)))
            unlock_unsuspended();
    }

private:
    template <class>
    friend class detail::wait_for_ever;
    template <class>
    friend class detail::wait_within_limits;
    template <class, critical_section, class>
    friend class detail::section_awaiter;
    using entry = detail::entry;
    enum : std::uint32_t { held = 1, waited = 2, guard = 4 };

    // The word as it was. Until release_guard() nobody else changes it.
    std::uint32_t lock_guard() noexcept {
        spin_wait wait;
        for (;;) {
            std::uint32_t seen = word_.load(std::memory_order_relaxed);
            if (!(seen & guard) && word_.compare_exchange_weak(seen, seen | guard, std::memory_order_acquire))
                return seen;
            wait.once();
        }
    }
    void release_guard(std::uint32_t word) noexcept { word_.store(word, std::memory_order_release); }

    [[nodiscard]] bool release_word() noexcept {
        std::uint32_t expected = held;
        return word_.compare_exchange_strong(expected, 0, std::memory_order_release, std::memory_order_relaxed);
    }

    // coro.M2, M3: the next owner, or null when the mutex is free now.
    waiter *choose_or_release() noexcept {
        if (release_word())
            return nullptr;
        detail::require(lock_guard() & held, "invariant M1 broken: a coroutine mutex is unlocked that nobody has");
        waiter *next = waiters_.choose();
        release_guard(!next ? 0 : waiters_.empty() ? std::uint32_t{held} : held | waited);
        return next;
    }

    // The awaiters' side (wait_awaiters.hpp, section_awaiter.hpp); abandon() is public, the condition variable's
    // awaiter calls it, too.
    static constexpr bool combines = Policy == policy::ces;
    [[nodiscard]] bool take_at_once(const waiter &) noexcept { return try_lock_spinning(); }
    entry enter(waiter &one) noexcept {
        std::uint32_t seen = lock_guard();
        if (!(seen & held)) {
            bool mine = one.advance(wait_state::arming, wait_state::chosen);
            release_guard(mine ? std::uint32_t{held} : 0);
            if (mine)
                detail::section_begins(this);
            return mine ? entry::got_it : entry::cancelled;
        }
        bool linked = waiters_.link(one);
        release_guard(linked ? seen | waited : seen);
        return linked ? entry::waits : entry::cancelled;
    }
    void withdraw(waiter &one) noexcept {
        std::uint32_t seen = lock_guard();
        waiters_.unlink(one);
        release_guard(waiters_.empty() ? seen & ~waited : seen);
        schedule(one);
    }

    void suspends(const waiter &one) const noexcept { one.note_begin(primitive_kind::mutex, this); }
    void resumed(const waiter &one) const noexcept {
        one.note_end(primitive_kind::mutex, this);
        if (one.chosen_ns != 0)
            detail::section_begins(this);
    }

    // Takes the mutex at once, or while it is polled: as long as sections are short, suspending takes longer than they.
    // Nobody who waits is passed by: with a waiter the word does not become 0.
    [[nodiscard]] bool try_lock_spinning() noexcept {
        if (try_lock())
            return true;
        if constexpr (Policy == policy::ces)
            return spins_max_ > 0 && spin();
        return false;
    }

    bool spin() noexcept {
        run_context *context = current_context();
        if (!context || !context->spinning_pays)
            return false;
        // What helped is tried more often, what did not less: never less than once, or it would not be noticed when
        // sections get short again.
        std::uint32_t spins = spins_.load(std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < spins; i++) {
            std::uint32_t seen = word_.load(std::memory_order_relaxed);
            if (seen == 0 && try_lock()) {
                if (spins < spins_max_)
                    spins_.store(spins + 1, std::memory_order_relaxed);
                return true;
            }
            if (seen & waited)
                return false;
            pause_polling();
        }
        if (spins > 1)
            spins_.store(spins - 1, std::memory_order_relaxed);
        return false;
    }

    // Flat combining: the next owner wants no more than its function run, and any thread may do that. False when it
    // wants the mutex, or this thread has done enough for others; and for a waiter without an executor, which could
    // only go on here, inside the caller.
    bool combine(waiter &next) noexcept {
        if constexpr (combines) {
            run_context *context = current_context();
            if (!next.closure || !next.home || !context || !context->home || context->chain + 1 >= context->chain_max)
                return false;
            context->chain++;
            next.how = passage::combined;
            next.note_end(primitive_kind::mutex, this);
            detail::section_begins(this);
            next.closure(next);
            detail::section_ends(this);
            return true;
        }
        return false;
    }

    // choose_or_release, after whatever may be combined. A combined waiter goes on only when the mutex is free or
    // another's: it may know that it was the last, and destroy it (coro.M3).
    waiter *next_owner() noexcept {
        waiter *next = choose_or_release();
        while (next && combine(*next)) {
            waiter *done = next;
            next = choose_or_release();
            schedule_elsewhere(*done);
        }
        return next;
    }

    // coro.M5.
    void unlock_by(passage how) noexcept {
        detail::section_ends(this);
        if (waiter *next = choose_or_release()) {
            next->how = how;
            hand_over_unsuspended<Policy>(*next);
        }
    }

    // await_resume of with(): the caller goes on at once, but those after it may be combined.
    void unlock_resumed() noexcept {
        detail::section_ends(this);
        if (waiter *next = next_owner())
            hand_over_unsuspended<Policy>(*next);
    }

    // await_suspend of whatever unlocks. True when `self` stays suspended.
    bool release_from(std::coroutine_handle<> self, deferred &frame) noexcept {
        waiter *next = next_owner();
        return next && hand_over<Policy>(self, *next, frame);
    }

    std::atomic<std::uint32_t> word_ = 0;
    std::uint32_t spins_max_ = mutex_options{}.spins_max;
    std::atomic<std::uint32_t> spins_ = mutex_options{}.spins_max;
    wait_list waiters_;
};

using mutex = basic_mutex<policy::ces>;
using dispatch_mutex = basic_mutex<policy::dispatch>;
using inline_mutex = basic_mutex<policy::inline_>;

template <policy Policy>
class [[nodiscard]] basic_mutex<Policy>::unlock_awaiter {
public:
    explicit unlock_awaiter(basic_mutex &of) noexcept : of_(of) {} // NOLINT(cppcoreguidelines-pro-type-member-init)
    unlock_awaiter(const unlock_awaiter &) = delete;
    unlock_awaiter &operator=(const unlock_awaiter &) = delete;
    ~unlock_awaiter() {
        if (state_ == state::not_awaited) [[unlikely]] {
            detail::not_awaited();
            of_.unlock_unsuspended();
        }
    }
    [[nodiscard]] bool await_ready() noexcept {
        detail::section_ends(&of_);
        if (of_.release_word()) {
            state_ = state::released;
            return !detail::turn_is_over();
        }
        state_ = state::somebody_waits;
        return false;
    }
    HF_CORO_SUSPENDS bool await_suspend(std::coroutine_handle<> self) noexcept {
        return state_ == state::released ? detail::end_turn(self) : of_.release_from(self, frame_);
    }
    void await_resume() const noexcept {}

private:
    enum class state : std::uint8_t { not_awaited, released, somebody_waits };

    basic_mutex &of_; // may be gone once it is released (coro.M3)
    union {
        deferred frame_; // written by defer()
    };
    state state_ = state::not_awaited;
};

// Has the mutex, or nothing. Moves, does not copy.
template <policy Policy>
class [[nodiscard]] basic_scoped_lock
    : public detail::guard<basic_mutex<Policy>, typename basic_mutex<Policy>::guard_mode> {
public:
    using detail::guard<basic_mutex<Policy>, typename basic_mutex<Policy>::guard_mode>::guard;
};

using scoped_lock = basic_scoped_lock<policy::ces>;
// What the standard calls it: it may be empty, moved, and unlocked before its end.
using unique_lock = scoped_lock;

} // namespace holdfast::coro

template <holdfast::coro::policy Policy>
class std::lock_guard<holdfast::coro::basic_mutex<Policy>> : holdfast::coro::detail::no_std_guard<Policy> {};
template <holdfast::coro::policy Policy>
class std::unique_lock<holdfast::coro::basic_mutex<Policy>> : holdfast::coro::detail::no_std_guard<Policy> {};
template <holdfast::coro::policy Policy>
class std::scoped_lock<holdfast::coro::basic_mutex<Policy>> : holdfast::coro::detail::no_std_guard<Policy> {};
