// SPDX-License-Identifier: MIT OR Apache-2.0
// What the four mutexes have in common: a word that names the owner, and waiters, first come, first served.
//
//                 acquire: CAS               acquire: under the guard, linked
//      0 (free) <--------------> owner ---------------------------------------> owner | WAITED --.
//                 release: CAS         <---------------------------------------    |    A       | release, exchanged:
//                                        the last waiter was taken out             |    |       | the first waiter is
//                                                                          release |    |       | the owner
//                                             the first waiter is woken to try;    V    | CAS <-'
//                                             0 without another one              WAITED -'
//
//      GUARD is set, in any state, by a fiber that changes the list of waiters; while it is set nobody else changes the
//      word.
//
// fiber.M1  Exclusion. The fiber that moves the word out of 0 is inside, or the one that the owner chose.
// fiber.M2  Nobody is forgotten: while a waiter is linked, WAITED is set, and the owner who finds it looks for a
//     waiter. While there is no owner then, one that was woken is about to try; a fiber that overtakes it finds WAITED
//     in its turn.
// An owner that can't be exchanged for the first waiter only wakes it, as Boost's do: to be made the owner and then
// queued would keep all others from the lock for so long.
// fiber.M3  The store of the word that releases it, or the guard, is the unlocker's last touch: the next owner may
//     destroy the mutex.
// Model: verify/fiber/mutex.pml. Tests: tests/fiber.
#pragma once

#include <atomic>
#include <boost/fiber/context.hpp>
#include <boost/fiber/exceptions.hpp>
#include <cstdint>
#include <system_error>

#include "holdfast/fibers/detail/spin_guard.hpp"
#include "holdfast/fibers/detail/wait.hpp"
#include "holdfast/fibers/detail/waiter.hpp"

namespace holdfast::fibers::detail {

[[noreturn]] inline void deadlock() {
    throw boost::fibers::lock_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                    "holdfast fiber: the caller has this mutex already");
}
[[noreturn]] inline void not_owner() {
    throw boost::fibers::lock_error(std::make_error_code(std::errc::operation_not_permitted),
                                    "holdfast fiber: the caller does not have this mutex");
}

class owned_lock {
public:
    owned_lock() = default;
    owned_lock(const owned_lock &) = delete;
    owned_lock &operator=(const owned_lock &) = delete;
    ~owned_lock() { BOOST_ASSERT(word_.load(std::memory_order_relaxed) == 0); }

    bool is_of(context *self) const noexcept { return owner(word_.load(std::memory_order_relaxed)) == self; }

    bool try_acquire(context *self) noexcept {
        std::uintptr_t seen = word_.load(std::memory_order_relaxed);
        // Acquires what the last owner did: pairs with release() and release_guard().
        return !owner(seen) && !(seen & guard) &&
               word_.compare_exchange_strong(seen, seen | word(self), std::memory_order_acquire,
                                             std::memory_order_relaxed);
    }
    // Boost's try_lock() gives the others a turn, and so must this: a loop of it would keep the owner from its
    // thread.
    bool try_acquire_or_yield(context *self) noexcept {
        if (try_acquire(self))
            return true;
        self->yield();
        return false;
    }
    void acquire(context *self) noexcept {
        if (!try_acquire(self))
            acquire_as_waiter(self);
    }
    // False when the time was over first.
    bool acquire_until(context *self, deadline until) {
        return try_acquire(self) || acquire_as_timed_waiter(self, until);
    }
    // Throws lock_error when the caller is not the owner. The caller may go on on another thread.
    void release(context *self) {
        std::uintptr_t seen = word(self);
        if (word_.compare_exchange_strong(seen, 0, std::memory_order_release, std::memory_order_relaxed))
            return;
        if (owner(seen) != self)
            not_owner();
        worker *here = exchange_here(self);
        lock_guard();
        waiter *next = waiters_.choose();
        bool grants = next && here && may_run_here(*here, self, *next);
        std::uintptr_t rest = waiters_.empty() ? 0 : waited;
        if (grants)
            next->granted = true;
        release_guard(grants ? word(next->fiber) | rest : rest);
        if (grants)
            hand_over(*here, self, *next);
        else if (next)
            wake(*next);
    }

private:
    static constexpr std::uintptr_t waited = 1, guard = 2, flags = waited | guard;

    static std::uintptr_t word(context *fiber) noexcept { return reinterpret_cast<std::uintptr_t>(fiber); }
    static context *owner(std::uintptr_t seen) noexcept { return reinterpret_cast<context *>(seen & ~flags); }

    // The word as it was. Until release_guard() nobody else changes it.
    std::uintptr_t lock_guard() noexcept {
        for (polling wait;; wait.once()) {
            std::uintptr_t seen = word_.load(std::memory_order_relaxed);
            if (!(seen & guard) && word_.compare_exchange_weak(seen, seen | guard, std::memory_order_acquire))
                return seen;
        }
    }
    void release_guard(std::uintptr_t to) noexcept { word_.store(to, std::memory_order_release); }

    // True when it is the owner, and not a waiter.
    bool enter(waiter &one) noexcept {
        std::uintptr_t seen = lock_guard();
        if (!owner(seen)) {
            release_guard(word(one.fiber) | seen);
            return true;
        }
        waiters_.append(one);
        release_guard(seen | waited);
        return false;
    }

    [[gnu::noinline]] void acquire_as_waiter(context *self) noexcept {
        for (bool acquired = false; !acquired;) {
            waiter own(self);
            own.home = home_here(self);
            acquired = enter(own);
            if (!acquired) {
                wait(own);
                acquired = own.granted;
            }
        }
    }
    [[gnu::noinline]] bool acquire_as_timed_waiter(context *self, deadline until) {
        for (;;) {
            parker parked;
            waiter own(self, parked);
            if (enter(own))
                return true;
            if (!parked.wait_until(until) && own.advance(wait_state::arming, wait_state::cancelled)) {
                withdraw(own);
                return false;
            }
            parked.wait(); // its waker is about to say so
            if (try_acquire(self))
                return true;
        }
    }
    void withdraw(waiter &one) noexcept {
        std::uintptr_t seen = lock_guard();
        waiters_.remove(one);
        release_guard(waiters_.empty() ? seen & ~waited : seen);
    }

    std::atomic<std::uintptr_t> word_ = 0;
    wait_list waiters_;
};

} // namespace holdfast::fibers::detail
