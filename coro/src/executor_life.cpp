// SPDX-License-Identifier: MIT OR Apache-2.0
#include "holdfast/coro/detail/executor_life.hpp"

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "holdfast/coro/detail/waiter.hpp"

namespace holdfast::coro {
namespace detail {
namespace {

constinit std::mutex unused_lock;
constinit executor_life *unused = nullptr;

// A thread that is inside calls an executor's schedule(): some hundred instructions, unless it has just lost its CPU.
class wait_for_others {
public:
    void once() noexcept {
        if (++looks_ < looks_max)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    }

private:
    static constexpr unsigned looks_max = 100;
    unsigned looks_ = 0;
};

} // namespace

executor_life &executor_life::take() {
    {
        std::lock_guard held(unused_lock);
        if (executor_life *one = unused) {
            unused = std::exchange(one->next_, nullptr);
            return *one;
        }
    }
    return *new executor_life;
}

void executor_life::begin_end() noexcept {
    // Acquires what those who were inside have done: pairs with leave().
    word_.fetch_or(ending_bit, std::memory_order_seq_cst);
    wait_for_others wait;
    while ((word_.load(std::memory_order_acquire) & inside_mask) != 0)
        wait.once();
}

waiter *executor_life::retire() noexcept {
    waiter *left = nullptr;
    {
        spin_lock held(guard_);
        left = std::exchange(adrift_, nullptr);
        wait_for_others wait;
        std::uint64_t before = std::uint64_t{generation()} << 32 | ending_bit;
        std::uint64_t after = std::uint64_t{generation() + 1} << 32;
        // Releases what the executor was: pairs with enter().
        for (std::uint64_t expected = before;
             !word_.compare_exchange_strong(expected, after, std::memory_order_acq_rel); expected = before)
            wait.once();
        for (waiter *one = left; one; one = one->next)
            one->adrift = false;
    }
    std::lock_guard held(unused_lock);
    next_ = std::exchange(unused, this);
    return left;
}

bool executor_life::set_adrift(waiter &one, std::uint32_t generation, bool given) noexcept {
    spin_lock held(guard_);
    if (this->generation() != generation)
        return false;
    one.adrift = true;
    if (!given)
        one.state.store(wait_state::orphaned, std::memory_order_release);
    one.previous = nullptr;
    one.next = adrift_;
    if (adrift_)
        adrift_->previous = &one;
    adrift_ = &one;
    return true;
}

void executor_life::take_back(waiter &one) noexcept {
    spin_lock held(guard_);
    if (!one.adrift)
        return;
    one.adrift = false;
    (one.previous ? one.previous->next : adrift_) = one.next;
    if (one.next)
        one.next->previous = one.previous;
}

} // namespace detail

bool waiter::hold_foreign_home(bool given) noexcept {
    using answer = detail::executor_life::answer;
    answer there = life->enter(generation);
    if (there == answer::ending && life->set_adrift(*this, generation, given))
        return false;
    hold = there == answer::inside ? home_hold::inside : home_hold::gone;
    return true;
}

executor_base::executor_base() : life_(&detail::executor_life::take()), generation_(life_->generation()) {}

executor_base::~executor_base() {
    end();
}

void executor_base::begin_end() noexcept {
    if (life_)
        life_->begin_end();
}

void executor_base::end() noexcept {
    detail::executor_life *life = std::exchange(life_, nullptr);
    if (!life)
        return;
    life->begin_end();
    for (waiter *one = life->retire(); one;) {
        waiter *next = one->next; // coro.W3
        one->hold = home_hold::gone;
        run_here_by_hand(one->handle);
        one = next;
    }
}

} // namespace holdfast::coro
