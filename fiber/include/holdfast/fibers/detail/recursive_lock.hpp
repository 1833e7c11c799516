// SPDX-License-Identifier: MIT OR Apache-2.0
// An owner may lock it again; it is free once it was unlocked as often.
#pragma once

#include <cstddef>

#include "holdfast/fibers/detail/owned_lock.hpp"

namespace holdfast::fibers::detail {

class recursive_lock {
public:
    void lock() {
        context *self = context::active();
        if (!again(self)) {
            lock_.acquire(self);
            depth_ = 1;
        }
    }
    bool try_lock() {
        context *self = context::active();
        return again(self) || begins(lock_.try_acquire_or_yield(self));
    }
    // Throws boost::fibers::lock_error, operation_not_permitted, when the caller does not have it.
    void unlock() {
        context *self = context::active();
        if (!lock_.is_of(self))
            not_owner();
        if (--depth_ == 0)
            lock_.release(self);
    }

protected:
    recursive_lock() = default;
    ~recursive_lock() = default;
    bool acquire_until(deadline until) {
        context *self = context::active();
        return again(self) || begins(lock_.acquire_until(self, until));
    }

private:
    bool again(context *self) noexcept {
        if (!lock_.is_of(self))
            return false;
        depth_++;
        return true;
    }
    bool begins(bool acquired) noexcept {
        if (acquired)
            depth_ = 1;
        return acquired;
    }

    owned_lock lock_;
    std::size_t depth_ = 0; // the owner's
};

} // namespace holdfast::fibers::detail
