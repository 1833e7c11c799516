// SPDX-License-Identifier: MIT OR Apache-2.0
// An owner may not lock it again.
#pragma once

#include "holdfast/fibers/detail/owned_lock.hpp"

namespace holdfast::fibers::detail {

class exclusive_lock {
public:
    // Returns once the caller has it: in the order of the calls. Throws boost::fibers::lock_error,
    // resource_deadlock_would_occur, when the caller has it already.
    void lock() { lock_.acquire(stranger()); }
    // False when somebody has it; then others were given a turn. Throws as lock().
    bool try_lock() { return lock_.try_acquire_or_yield(stranger()); }
    // Throws boost::fibers::lock_error, operation_not_permitted, when the caller does not have it. Where somebody waits
    // for it, and the thread runs ces<>, the caller goes on after the next owner, maybe on another thread.
    void unlock() { lock_.release(context::active()); }

protected:
    exclusive_lock() = default;
    ~exclusive_lock() = default;
    bool acquire_until(deadline until) { return lock_.acquire_until(context::active(), until); }

private:
    // The caller, which does not have it.
    context *stranger() const {
        context *self = context::active();
        if (lock_.is_of(self))
            deadlock();
        return self;
    }

    owned_lock lock_;
};

} // namespace holdfast::fibers::detail
