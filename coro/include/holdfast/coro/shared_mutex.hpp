// SPDX-License-Identifier: MIT OR Apache-2.0
// A reader-writer mutex, first come, first served: a reader that comes after a waiting writer waits behind it.
//
// coro.R1  Exclusion: one writer, or any number of readers.
// coro.R2  Nobody is forgotten: while the first in the list could enter, it is not in the list.
// coro.R3  A writer that goes on as a reader (downgrade) lets no other writer in between.
// Model: verify/coro/shared.pml. Test: tests/coro/primitives_test.
#pragma once

#include <cstddef>

#include "holdfast/coro/detail/waited_on.hpp"
#include "holdfast/coro/guard.hpp"

namespace holdfast::coro {

template <policy Policy>
class [[nodiscard]] basic_shared_mutex : public detail::waited_on<basic_shared_mutex<Policy>> {
public:
    // Guards of a writer and of a reader.
    struct write_mode;
    struct read_mode;
    using scoped_lock_type = detail::guard<basic_shared_mutex, write_mode>;
    using scoped_lock_shared_type = detail::guard<basic_shared_mutex, read_mode>;

    basic_shared_mutex() = default;

    // co_await, O(1). With a limit: false when that was reached first.
    [[nodiscard]] auto lock() noexcept { return endless(*this, writer); }
    [[nodiscard]] auto lock_shared() noexcept { return endless(*this, reader); }
    [[nodiscard]] auto lock(std::stop_token token) { return limited(writer, {std::nullopt, std::move(token)}); }
    [[nodiscard]] auto lock_shared(std::stop_token token) { return limited(reader, {std::nullopt, std::move(token)}); }
    template <class Rep, class Period>
    [[nodiscard]] auto try_lock_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return try_lock_until(deadline_after(time), std::move(token));
    }
    template <class Rep, class Period>
    [[nodiscard]] auto try_lock_shared_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return try_lock_shared_until(deadline_after(time), std::move(token));
    }
    [[nodiscard]] auto try_lock_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return limited(writer, {deadline, std::move(token)});
    }
    [[nodiscard]] auto try_lock_shared_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return limited(reader, {deadline, std::move(token)});
    }
    // auto held = co_await s.scoped_lock_shared(); ... co_await held.unlock(); Else the destructor unlocks.
    // With a limit: the guard is empty, `if (held)`, when that was reached first.
    [[nodiscard]] auto scoped_lock() noexcept { return detail::guarded<endless, scoped_lock_type>(*this, writer); }
    [[nodiscard]] auto scoped_lock_shared() noexcept {
        return detail::guarded<endless, scoped_lock_shared_type>(*this, reader);
    }
    [[nodiscard]] auto scoped_lock(std::stop_token token) {
        return limited_guard<scoped_lock_type>(writer, {std::nullopt, std::move(token)});
    }
    [[nodiscard]] auto scoped_lock_shared(std::stop_token token) {
        return limited_guard<scoped_lock_shared_type>(reader, {std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] auto try_scoped_lock_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return try_scoped_lock_until(deadline_after(time), std::move(token));
    }
    template <class Rep, class Period>
    [[nodiscard]] auto try_scoped_lock_shared_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return try_scoped_lock_shared_until(deadline_after(time), std::move(token));
    }
    [[nodiscard]] auto try_scoped_lock_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return limited_guard<scoped_lock_type>(writer, {deadline, std::move(token)});
    }
    [[nodiscard]] auto try_scoped_lock_shared_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return limited_guard<scoped_lock_shared_type>(reader, {deadline, std::move(token)});
    }
    [[nodiscard]] bool try_lock() noexcept {
        spin_lock held(this->guard_);
        return enter_as(writer);
    }
    [[nodiscard]] bool try_lock_shared() noexcept {
        spin_lock held(this->guard_);
        return enter_as(reader);
    }

    // co_await. Requires that the caller has it. One of those who can enter goes on here (CES), the others are
    // scheduled.
    [[nodiscard]] auto unlock() noexcept {
        return leaving([this](wait_list &chosen) noexcept { leave(writer, chosen); });
    }
    [[nodiscard]] auto unlock_shared() noexcept {
        return leaving([this](wait_list &chosen) noexcept { leave(reader, chosen); });
    }
    // The same from where nothing can be awaited.
    void unlock_unsuspended() noexcept { leave_unsuspended(writer); }
    void unlock_shared_unsuspended() noexcept { leave_unsuspended(reader); }

    // A writer goes on as a reader, and readers come in that have waited before the next writer. Requires that the
    // caller has it to write. From where nothing can be awaited, too. O(readers let in).
    void downgrade() noexcept {
        wait_list chosen;
        {
            spin_lock held(this->guard_);
            detail::require(written_, "a shared_mutex is downgraded that nobody has to write");
            written_ = false;
            readers_++;
            admit(chosen);
        }
        schedule_owners<Policy>(chosen);
    }
    // auto reader = m.downgrade(std::move(writer)). Requires that the guard has it.
    [[nodiscard]] scoped_lock_shared_type downgrade(scoped_lock_type &&held) noexcept {
        detail::require(held.mutex() == this, "a guard is downgraded that does not have this shared_mutex");
        static_cast<void>(held.release());
        downgrade();
        return scoped_lock_shared_type(*this, std::adopt_lock);
    }

    // For its guards.
    struct write_mode {
        static auto unlock(basic_shared_mutex &of) noexcept { return of.unlock(); }
        static void give_back(basic_shared_mutex &of) noexcept { of.unlock_unsuspended(); }
    };
    struct read_mode {
        static auto unlock(basic_shared_mutex &of) noexcept { return of.unlock_shared(); }
        static void give_back(basic_shared_mutex &of) noexcept { of.unlock_shared_unsuspended(); }
    };

private:
    friend class detail::waited_on<basic_shared_mutex>;
    static constexpr primitive_kind observed_as = primitive_kind::shared_mutex;
    enum : std::size_t { reader, writer };
    using endless = detail::wait_for_ever<basic_shared_mutex>;
    using within_limits = detail::wait_within_limits<basic_shared_mutex>;

    template <class Operation>
    static auto leaving(Operation operation) noexcept {
        return detail::giving<Policy, Operation>(operation);
    }
    auto limited(std::size_t what, wait_limits limits) { return within_limits(*this, what, std::move(limits)); }
    template <class Guard>
    auto limited_guard(std::size_t what, wait_limits limits) {
        return detail::guarded<within_limits, Guard>(*this, what, std::move(limits));
    }

    // Under the guard.
    bool may_enter(std::size_t what) const noexcept { return !written_ && (what == reader || readers_ == 0); }
    void count(std::size_t what) noexcept {
        if (what == writer)
            written_ = true;
        else
            readers_++;
    }
    bool enter_as(std::size_t what) noexcept {
        if (!this->waiters_.empty() || !may_enter(what))
            return false;
        count(what);
        return true;
    }
    bool take(const waiter *one) noexcept { return enter_as(one->wanted); }

    // coro.R2: a writer, or as many readers as come before the next writer. Under the guard.
    void admit(wait_list &chosen) noexcept {
        while (waiter *first = this->waiters_.first()) {
            if (!may_enter(first->wanted))
                return;
            this->waiters_.unlink(*first);
            if (!first->choose())
                continue; // cancelled, or its executor ends
            count(first->wanted);
            chosen.append(*first);
        }
    }
    void leave(std::size_t what, wait_list &chosen) noexcept {
        spin_lock held(this->guard_);
        detail::require(what == writer ? written_ : readers_ > 0,
                        "a shared_mutex is unlocked that nobody has so: unlock() is for lock(), unlock_shared() for "
                        "lock_shared()");
        if (what == writer)
            written_ = false;
        else
            readers_--;
        admit(chosen);
    }
    void leave_unsuspended(std::size_t what) noexcept {
        wait_list chosen;
        leave(what, chosen);
        schedule_owners<Policy>(chosen);
    }
    void give_back(const waiter &one) noexcept { leave_unsuspended(one.wanted); }
    // A writer that gave up may have kept readers behind it waiting for nothing.
    void someone_left() noexcept {
        wait_list chosen;
        {
            spin_lock held(this->guard_);
            admit(chosen);
        }
        schedule_owners<Policy>(chosen);
    }

    std::size_t readers_ = 0;
    bool written_ = false;
};

using shared_mutex = basic_shared_mutex<policy::ces>;
// What the standard calls a reader's guard.
using shared_lock = shared_mutex::scoped_lock_shared_type;

} // namespace holdfast::coro
