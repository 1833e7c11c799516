// SPDX-License-Identifier: MIT OR Apache-2.0
// The threads that run ces<> around one algorithm that moves fibers between them, and the fibers that come to them
// from elsewhere: those whose lock a thread without the algorithm gave back, and owners at the end of a chain.
//
// fiber.G1  While a fiber is here, a thread of the group is awake, or has been told.
//     The thread: sleeping = true, then a look at count_. A fiber that brings: count_, then a look at sleeping. All are
//     sequentially consistent, so one of the two sees the other.
// fiber.G2  A thread takes from here at most every second time, so that others are not starved.
#pragma once

#include <atomic>
#include <boost/fiber/algo/algorithm.hpp>

#include "holdfast/fibers/detail/spin_guard.hpp"
#include "holdfast/fibers/detail/waiter.hpp"

namespace holdfast::fibers::detail {

// A thread that runs ces<>.
struct worker {
    worker(boost::fibers::algo::algorithm *inner, group *of) noexcept : algorithm(inner), home(of) {}

    boost::fibers::algo::algorithm::ptr_t algorithm;
    group *home;                  // null: its fibers stay on this thread
    waiter *suspending = nullptr; // whose fiber leaves this thread now
    unsigned chain = 0;           // hand-overs since a fiber was taken from a queue
    bool others_first = false;
    std::atomic<bool> sleeping = false;
    worker *next = nullptr; // in the group

    // awakened() of a fiber that waits: it is off its stack. False: it was chosen on the way, and is ready.
    bool detached(waiter &own) noexcept {
        context *fiber = own.fiber;
        fiber->detach(); // fiber.W3: before SUSPENDED
        if (own.advance(wait_state::switching, wait_state::suspended))
            return true;
        context::active()->attach(fiber);
        return false;
    }
};

// One that is not inlined: a fiber may have changed its thread since it was called last.
struct [[gnu::visibility("default")]] worker_slot {
    static worker *&here() noexcept {
        static thread_local worker *one = nullptr;
        return one;
    }
};
[[gnu::noinline]] inline worker *worker_here() noexcept {
    worker *one = worker_slot::here();
    asm volatile("" : "+r"(one)); // has an effect, so that calls are not merged
    return one;
}

class [[gnu::visibility("default")]] group {
public:
    void enter(worker &one) noexcept {
        std::lock_guard held(guard_);
        one.next = workers_;
        workers_ = &one;
    }
    void leave(worker &one) noexcept {
        std::lock_guard held(guard_);
        for (worker **at = &workers_; *at; at = &(*at)->next)
            if (*at == &one) {
                *at = one.next;
                return;
            }
    }

    // Requires a stealable waiter that is SUSPENDED and the caller's.
    void bring(waiter &one) noexcept {
        {
            std::lock_guard held(guard_);
            brought_.append(one);
            count_.fetch_add(1, std::memory_order_seq_cst);
        }
        if (boost::fibers::algo::algorithm::ptr_t asleep = take_sleeper())
            asleep->notify();
    }

    // Makes it a fiber of this thread's scheduler. Null when there is none.
    context *take() noexcept {
        if (count_.load(std::memory_order_relaxed) == 0)
            return nullptr;
        waiter *one = nullptr;
        {
            std::lock_guard held(guard_);
            one = brought_.take_first();
            if (!one)
                return nullptr;
            count_.fetch_sub(1, std::memory_order_relaxed);
        }
        context::active()->attach(one->fiber);
        return one->fiber;
    }

    bool has_any() const noexcept { return count_.load(std::memory_order_seq_cst) > 0; }

private:
    boost::fibers::algo::algorithm::ptr_t take_sleeper() noexcept {
        std::lock_guard held(guard_);
        for (worker *one = workers_; one; one = one->next)
            if (one->sleeping.load(std::memory_order_seq_cst) && one->sleeping.exchange(false))
                return one->algorithm;
        return nullptr;
    }

    spin_guard guard_;
    worker *workers_ = nullptr;
    wait_list brought_;
    std::atomic<unsigned> count_ = 0;
};

template <class Algorithm>
struct [[gnu::visibility("default")]] group_of {
    static group &get() {
        static group *one = new group; // immortal: threads leave it while the process ends
        return *one;
    }
};

} // namespace holdfast::fibers::detail
