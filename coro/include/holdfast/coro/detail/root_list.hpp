// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines that nobody awaits, for the executor that has to destroy them when it ends.
#pragma once

#include "holdfast/coro/detail/spin_guard.hpp"
#include "holdfast/coro/executor.hpp"

namespace holdfast::coro {

class root_list {
public:
    // False once it was emptied: then nothing has been done.
    bool add(root &one) noexcept {
        spin_lock held(guard_);
        if (closed_)
            return false;
        one.previous = nullptr;
        one.next = first_;
        if (first_)
            first_->previous = &one;
        first_ = &one;
        return true;
    }

    void remove(root &one) noexcept {
        spin_lock held(guard_);
        unlink(one);
    }

    // Destroys all that there are, and lets nobody in after them. Requires that none of them runs.
    void destroy_all() noexcept {
        while (root *one = take())
            one->abandon(*one);
    }

private:
    root *take() noexcept {
        spin_lock held(guard_);
        closed_ = true;
        root *one = first_;
        if (one)
            unlink(*one);
        return one;
    }

    void unlink(root &one) noexcept {
        if (one.previous)
            one.previous->next = one.next;
        else
            first_ = one.next;
        if (one.next)
            one.next->previous = one.previous;
    }

    spin_guard guard_;
    root *first_ = nullptr; // guarded, as is the next
    bool closed_ = false;
};

} // namespace holdfast::coro
