// SPDX-License-Identifier: MIT OR Apache-2.0
// boost::fibers::condition_variable and condition_variable_any. Boost's own unlock the caller's lock under a spinlock
// of theirs, which may not be held when unlock() gives this thread to another fiber. docs/fibers.md.
//
// fiber.V1  A waiter is linked before it unlocks, so no notification between the two is lost.
// fiber.V2  No guard is held while the caller's lock is locked or unlocked.
// fiber.V3  A waiter that was chosen touches the condition variable no more: the notifier may destroy it.
#pragma once

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/detail/convert.hpp>
#include <chrono>
#include <cxxabi.h>
#include <exception>
#include <mutex>
#include <utility>

#include "holdfast/fibers/detail/wait.hpp"
#include "holdfast/fibers/mutex.hpp"

namespace holdfast::fibers {

using boost::fibers::cv_status;

class condition_variable_any {
public:
    condition_variable_any() = default;
    condition_variable_any(const condition_variable_any &) = delete;
    condition_variable_any &operator=(const condition_variable_any &) = delete;
    ~condition_variable_any() { BOOST_ASSERT(waiters_.empty()); }

    // Also where no fiber runs: on any thread.
    void notify_one() noexcept {
        guard_.lock();
        detail::waiter *one = waiters_.choose();
        guard_.unlock();
        if (one)
            detail::wake(*one);
    }
    void notify_all() noexcept {
        detail::waiter *first = nullptr;
        detail::waiter **end = &first;
        guard_.lock();
        while (detail::waiter *one = waiters_.choose()) {
            *end = one;
            end = &one->next;
        }
        *end = nullptr;
        guard_.unlock();
        while (detail::waiter *one = std::exchange(first, first ? first->next : nullptr))
            detail::wake(*one);
    }

    // Unlocks `held`, waits until it is notified, and locks it again. An exception of lock() ends the program.
    template <class Lock>
    void wait(Lock &held) {
        detail::waiter own(detail::context::active());
        link_and_unlock(own, held);
        own.home = detail::home_here(own.fiber); // it may have changed its thread in unlock()
        detail::wait(own);
        relock(held);
    }
    template <class Lock, class Predicate>
    void wait(Lock &held, Predicate done) {
        while (!done())
            wait(held);
    }

    template <class Lock, class Clock, class Duration>
    cv_status wait_until(Lock &held, const std::chrono::time_point<Clock, Duration> &until) {
        detail::parker parked;
        detail::waiter own(detail::context::active(), parked);
        link_and_unlock(own, held);
        bool notified = parked.wait_until(boost::fibers::detail::convert(until)) || !withdraw(own);
        relock(held);
        return notified ? cv_status::no_timeout : cv_status::timeout;
    }
    // Returns what `done` said last.
    template <class Lock, class Clock, class Duration, class Predicate>
    bool wait_until(Lock &held, const std::chrono::time_point<Clock, Duration> &until, Predicate done) {
        while (!done())
            if (wait_until(held, until) == cv_status::timeout)
                return done();
        return true;
    }

    template <class Lock, class Rep, class Period>
    cv_status wait_for(Lock &held, const std::chrono::duration<Rep, Period> &wait) {
        return wait_until(held, std::chrono::steady_clock::now() + wait);
    }
    template <class Lock, class Rep, class Period, class Predicate>
    bool wait_for(Lock &held, const std::chrono::duration<Rep, Period> &wait, Predicate done) {
        return wait_until(held, std::chrono::steady_clock::now() + wait, done);
    }

private:
    // fiber.V1, V2. Where unlock() throws, the caller does not wait.
    template <class Lock>
    void link_and_unlock(detail::waiter &own, Lock &held) {
        guard_.lock();
        waiters_.append(own);
        guard_.unlock();
        try {
            held.unlock();
        } catch (...) {
            withdraw(own);
            throw;
        }
    }

    // True when it was not notified, and won't be. Else the notifier touches it no more (fiber.V3).
    bool withdraw(detail::waiter &own) noexcept {
        using detail::wait_state;
        if (own.parked && !own.advance(wait_state::arming, wait_state::cancelled)) {
            own.parked->wait();
            return false;
        }
        guard_.lock();
        bool chosen = !own.linked && !own.parked;
        waiters_.remove(own);
        guard_.unlock();
        for (detail::polling wait; chosen && own.state.load(std::memory_order_acquire) != wait_state::chosen;)
            wait.once();
        return !chosen;
    }

    template <class Lock>
    static void relock(Lock &held) {
        try {
            held.lock();
        } catch (const abi::__forced_unwind &) {
            throw;
        } catch (...) {
            std::terminate();
        }
    }

    detail::spin_guard guard_;
    detail::wait_list waiters_;
};

// For std::unique_lock<holdfast::fibers::mutex>.
class condition_variable {
public:
    condition_variable() = default;
    condition_variable(const condition_variable &) = delete;
    condition_variable &operator=(const condition_variable &) = delete;

    void notify_one() noexcept { any_.notify_one(); }
    void notify_all() noexcept { any_.notify_all(); }

    // Requires that the caller has it, as do all that follow.
    void wait(std::unique_lock<mutex> &held) { any_.wait(held); }
    template <class Predicate>
    void wait(std::unique_lock<mutex> &held, Predicate done) {
        any_.wait(held, done);
    }
    template <class Clock, class Duration>
    cv_status wait_until(std::unique_lock<mutex> &held, const std::chrono::time_point<Clock, Duration> &until) {
        return any_.wait_until(held, until);
    }
    template <class Clock, class Duration, class Predicate>
    bool wait_until(std::unique_lock<mutex> &held, const std::chrono::time_point<Clock, Duration> &until,
                    Predicate done) {
        return any_.wait_until(held, until, done);
    }
    template <class Rep, class Period>
    cv_status wait_for(std::unique_lock<mutex> &held, const std::chrono::duration<Rep, Period> &wait) {
        return any_.wait_for(held, wait);
    }
    template <class Rep, class Period, class Predicate>
    bool wait_for(std::unique_lock<mutex> &held, const std::chrono::duration<Rep, Period> &wait, Predicate done) {
        return any_.wait_for(held, wait, done);
    }

private:
    condition_variable_any any_;
};

} // namespace holdfast::fibers
