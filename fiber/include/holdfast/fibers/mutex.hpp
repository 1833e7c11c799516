// SPDX-License-Identifier: MIT OR Apache-2.0
// boost::fibers::mutex, with combine-and-exchange scheduling where the thread runs ces<> (ces.hpp). docs/fibers.md.
#pragma once

#include "holdfast/fibers/detail/owned_lock.hpp"

namespace holdfast::fibers {

class mutex {
public:
    // Returns once the caller has it: in the order of the calls. Throws boost::fibers::lock_error,
    // resource_deadlock_would_occur, when the caller has it already.
    void lock() {
        detail::context *self = detail::context::active();
        if (lock_.is_of(self))
            detail::deadlock();
        lock_.acquire(self);
    }
    // False when somebody has it; then others were given a turn. Throws as lock().
    bool try_lock() {
        detail::context *self = detail::context::active();
        if (lock_.is_of(self))
            detail::deadlock();
        return lock_.try_acquire_or_yield(self);
    }
    // Throws boost::fibers::lock_error, operation_not_permitted, when the caller does not have it. Where somebody waits
    // for it, and the thread runs ces<>, the caller goes on after the next owner, maybe on another thread.
    void unlock() { lock_.release(detail::context::active()); }

private:
    detail::owned_lock lock_;
};

} // namespace holdfast::fibers
