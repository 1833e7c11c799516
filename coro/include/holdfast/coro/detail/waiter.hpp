// SPDX-License-Identifier: MIT OR Apache-2.0
// A coroutine that waits for a primitive, and the lists of them. A waiter is part of the awaiter, so it lives in the
// coroutine's frame: waiting allocates nothing.
//
//                 linked, under the primitive's guard       taken out, under the guard
//      ARMING --------------------------------> WAITING --------------------------> CHOSEN --> resumed
//        |                                         |
//        +-- limit reached --> CANCELLED <---------+   (compare-and-swap: the winner decides)
//
// coro.W1  One resumption. A waiter that was linked is resumed by a task that chose it or by a task that cancelled it,
//     never by both.
// coro.W2  A canceller may touch the primitive, since the wait has not ended and so nobody may destroy it. One that has
//     lost the compare-and-swap touches nothing: the chosen one may have ended its wait and destroyed the primitive.
// coro.W3  A resumer of a waiter has copied what it needs of it before: the frame may be gone at once.
// coro.W4  A wait ends only when its limits are disarmed: after that neither the timer nor the stop request touches the
//     frame.
// coro.W5  An awaiter that is kept may be awaited again: prepare() begins a wait that knows nothing of the one before.
// Model: verify/coro/mutex.pml. Tests: tests/coro/mutex_test, tests/coro/stress_test.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include "holdfast/coro/detail/observation.hpp"
#include "holdfast/coro/detail/timer_queue.hpp"
#include "holdfast/coro/executor.hpp"

// clang 16 may keep locals of an inlined await_suspend in the frame, which may be gone when it returns.
#ifdef __clang__
#define HF_CORO_SUSPENDS [[gnu::noinline]]
#else
#define HF_CORO_SUSPENDS
#endif

namespace holdfast::coro {

// `committed`: linked or chosen, and can't be cancelled any more (a waiter of a condition variable on its way to the
// mutex).
// `orphaned`: it would have been chosen, but its executor is ending (coro.X3, X4).
enum class wait_state : std::uint8_t { arming, waiting, chosen, cancelled, committed, orphaned };

// By what a waiter's executor is kept there while the waiter is let go (executor_life.hpp).
enum class home_hold : std::uint8_t {
    none,   // nothing yet
    own,    // the task that lets it go runs there
    inside, // the task that lets it go is inside of its life
    gone    // it has ended: the wait ends with executor_stopped
};

struct waiter {
    waiter *next = nullptr;
    waiter *previous = nullptr;
    std::coroutine_handle<> handle;
    executor_base *home = nullptr; // null: resumed where it is chosen
    std::size_t wanted = 0;        // what, or how much: for the primitive to read
    bool linked = false;           // written under the guard
    bool has_limits = false;       // may be cancelled
    bool adrift = false;           // coro.X3; guarded by the life
    home_hold hold = home_hold::none;
    std::uint32_t generation = 0;          // of the life, when the wait began
    detail::executor_life *life = nullptr; // of `home`, which may be gone
    passage how = passage::queued;         // how it goes on, once it was chosen
    std::atomic<wait_state> state = wait_state::arming;
    void (*closure)(waiter &) noexcept = nullptr; // what the mutex is for, when that can be done on any thread
    std::uint64_t chosen_ns = 0;                  // when it was chosen; 0: nobody wants to know

    waiter() = default;
    waiter(const waiter &) = delete;
    waiter &operator=(const waiter &) = delete;

    // Nobody else knows this one yet, or any more (coro.W4).
    void prepare(std::coroutine_handle<> self) noexcept {
        state.store(wait_state::arming, std::memory_order_relaxed); // coro.W5
        handle = self;
        how = passage::queued;
        chosen_ns = 0;
        hold = home_hold::none;
        const run_context *context = current_context();
        home = context ? context->home : nullptr;
        if (home) {
            life = home->life();
            generation = home->generation();
        }
    }

    // coro.X2. By the task that lets it go, under the guard if others may still let it go or destroy it. False when its
    // home is ending: then it is adrift, and must not be touched without the guard. `given`: it has what it waited for.
    [[nodiscard]] bool hold_home(bool given) noexcept {
        if (!home)
            return true;
        if (const run_context *context = current_context(); context && context->home == home) {
            hold = home_hold::own;
            return true;
        }
        return hold_foreign_home(given);
    }
    // The coroutine runs again: has its home ended?
    [[nodiscard]] bool home_has_ended() const noexcept { return hold == home_hold::gone; }
    // Its frame is being destroyed, and nobody can choose it any more.
    void leave_home() noexcept {
        if (life)
            life->take_back(*this);
    }

    // False when it was cancelled before: then it must not be linked.
    [[nodiscard]] bool advance(wait_state from, wait_state to) noexcept {
        if (!has_limits) {
            state.store(to, std::memory_order_relaxed);
            return true;
        }
        return state.compare_exchange_strong(from, to, std::memory_order_acq_rel);
    }
    [[nodiscard]] bool was(wait_state one) const noexcept { return state.load(std::memory_order_acquire) == one; }

    void note_chosen() noexcept {
        if (detail::noting())
            chosen_ns = detail::observation_clock_ns();
    }
    // Out of its list, under the guard. False when it was cancelled, or gets nothing any more.
    [[nodiscard]] bool choose() noexcept {
        if (!was(wait_state::committed) && !advance(wait_state::waiting, wait_state::chosen))
            return false;
        note_chosen();
        return hold_home(false);
    }
    // It is prepared, and about to be linked: after that nothing of it may be read.
    void note_begin(primitive_kind of, const void *primitive) const noexcept {
        if (detail::noting(detail::watching))
            detail::note_waiting(handle.address(), of, primitive);
    }
    // It runs again, after it was suspended.
    void note_end(primitive_kind of, const void *primitive) const noexcept {
        if (detail::noting(detail::watching))
            detail::note_waits_no_more(handle.address());
        if (chosen_ns != 0)
            detail::note_wait(of, primitive, how, chosen_ns);
        else if (has_limits && was(wait_state::cancelled))
            note_given_up(of, primitive);
    }
    void note_given_up(primitive_kind of, const void *primitive) const noexcept {
        if (detail::noting(detail::watching))
            detail::note_waits_no_more(handle.address());
        if (detail::noting(detail::counting))
            detail::note_given_up(of, primitive);
    }

private:
    bool hold_foreign_home(bool given) noexcept;
};

// First in, first out; guarded by its primitive.
class wait_list {
public:
    [[nodiscard]] bool empty() const noexcept { return !first_; }
    [[nodiscard]] waiter *first() const noexcept { return first_; }

    // False when `one` was cancelled while it came here.
    [[nodiscard]] bool link(waiter &one) noexcept {
        if (!one.advance(wait_state::arming, wait_state::waiting))
            return false;
        append(one);
        return true;
    }

    // The oldest that is not cancelled, and it can't be any more. Null when there is none.
    [[nodiscard]] waiter *choose() noexcept {
        while (waiter *one = first_) {
            unlink(*one);
            if (one->choose())
                return one;
        }
        return nullptr;
    }

    // All of them, behind those that `chosen` has.
    void choose_all(wait_list &chosen) noexcept {
        while (waiter *one = choose())
            chosen.append(*one);
    }

    void append(waiter &one) noexcept {
        one.linked = true;
        one.next = nullptr;
        one.previous = last_;
        (last_ ? last_->next : first_) = &one;
        last_ = &one;
    }

    void unlink(waiter &one) noexcept {
        if (!one.linked)
            return;
        one.linked = false;
        (one.previous ? one.previous->next : first_) = one.next;
        (one.next ? one.next->previous : last_) = one.previous;
    }

private:
    waiter *first_ = nullptr;
    waiter *last_ = nullptr;
};

// Lets a waiter that was chosen, or cancelled, go on elsewhere: where this function of its executor puts it. Not a
// touch of the waiter after this.
template <void (executor_base::*Put)(std::coroutine_handle<>) noexcept>
void schedule_by(waiter &one) noexcept {
    std::coroutine_handle<> handle = one.handle;
    executor_base *home = one.home;
    if (one.hold == home_hold::none && !one.hold_home(true))
        return; // adrift
    if (home && one.hold == home_hold::own) {
        (home->*Put)(handle);
    } else if (home && one.hold == home_hold::inside) {
        detail::executor_life *life = one.life;
        (home->*Put)(handle);
        life->leave();
    } else if (run_context *context = home ? current_context() : nullptr; context && context->home) {
        context->home->schedule_remote(handle);
    } else {
        run_here_by_hand(handle);
    }
}

inline void schedule(waiter &one) noexcept {
    schedule_by<&executor_base::schedule>(one);
}

// For one that others wait for: it was given a lock.
inline void schedule_owner(waiter &one) noexcept {
    schedule_by<&executor_base::schedule_urgent>(one);
}

inline void schedule_elsewhere(waiter &one) noexcept {
    schedule_by<&executor_base::schedule_rotated>(one);
}

// Until when, and until whose request, a wait may take.
struct wait_limits {
    std::optional<deadline_clock::time_point> deadline;
    std::stop_token token;

    [[nodiscard]] bool time_has_passed() const { return deadline && *deadline <= deadline_clock::now(); }
    [[nodiscard]] bool passed() const { return token.stop_requested() || time_has_passed(); }
};

// A waiter that may give up. `withdraw` takes it out of its list, under the guard, and lets it go on; it runs on the
// thread of the timer, or of a task that requested the stop, once the waiter is CANCELLED (coro.W2).
class limited_waiter : public waiter, private timer {
public:
    explicit limited_waiter(wait_limits limits, void (*withdraw)(limited_waiter &) noexcept)
        : limits_(std::move(limits)), withdraw_(withdraw) {
        has_limits = true;
    }
    ~limited_waiter() { disarm(); }
    limited_waiter(const limited_waiter &) = delete;
    limited_waiter &operator=(const limited_waiter &) = delete;

    // After prepare(), before it is linked.
    void arm() {
        if (limits_.deadline) {
            if (!home) [[unlikely]]
                detail::throw_no_executor();
            at = *limits_.deadline;
            fire = [](timer &one) noexcept { static_cast<limited_waiter &>(one).reached(); };
            if (detail::noting(detail::watching))
                detail::note_deadline(handle.address(), at);
            home->timers().add(*this);
            timed_ = true;
        }
        if (limits_.token.stop_possible())
            stop_.emplace(limits_.token, on_stop{this});
    }

    // coro.W4. Not under a guard: it waits for a task that is at it.
    void disarm() noexcept {
        stop_.reset();
        if (std::exchange(timed_, false) && !home_has_ended())
            disarm_timer();
    }

    [[nodiscard]] const wait_limits &limits() const noexcept { return limits_; }
    [[nodiscard]] bool limits_passed() const { return limits_.passed(); }

private:
    // The executor may be gone where the coroutine does not run, but is destroyed.
    void disarm_timer() noexcept {
        if (const run_context *context = current_context(); context && context->home == home) {
            home->timers().cancel(*this);
        } else if (life->enter(generation, true) == detail::executor_life::answer::inside) {
            home->timers().cancel(*this);
            life->leave();
        }
    }

    struct on_stop {
        limited_waiter *one;
        void operator()() const noexcept { one->reached(); }
    };

    void reached() noexcept {
        wait_state seen = state.load(std::memory_order_acquire);
        while (seen == wait_state::arming || seen == wait_state::waiting) {
            if (!state.compare_exchange_weak(seen, wait_state::cancelled, std::memory_order_acq_rel))
                continue;
            if (seen == wait_state::waiting)
                withdraw_(*this);
            return;
        }
    }

    wait_limits limits_;
    void (*withdraw_)(limited_waiter &) noexcept;
    std::optional<std::stop_callback<on_stop>> stop_;
    bool timed_ = false;
};

} // namespace holdfast::coro
