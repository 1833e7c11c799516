// SPDX-License-Identifier: MIT OR Apache-2.0
// How workers sleep and are woken.
//
//              nothing found                 nothing found, announced, looked again
//   RUNNING ------------------> SEARCHING -----------------------------------------> SLEEPING
//      ^                           | ^                                                  |
//      +-------- found ------------+ +---- found at the second look (AWAKE), woken -----+
//                                                                         (NOTIFIED)
//
// pool.P1  No lost wake-up. While something is ready, a worker is running or searching, or one has been notified. A
//     thread that puts looks for sleepers after it; one that goes to sleep looks at all queues after it said so; both
//     in the total order of sequentially consistent operations, so that one of them sees the other.
// pool.P2  A put may leave the wake to a worker that is searching already: that one, when it finds something and was
//     the last that searched, stops being a searcher, then looks whether there is more, and if so wakes another; when
//     it finds nothing, it announces its sleep, stops being a searcher, and looks again, in this order.
// pool.P3  A sleeper is notified by one thread: the compare-and-swap from SLEEPING decides. A NOTIFIED one
//     will search.
// Model: verify/coro/mutex.pml. Tests: tests/coro/primitives_test, tests/coro/stress_test.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "idle_counts.hpp"
#include "worker.hpp"

namespace holdfast::coro {

class worker_sleep {
public:
    explicit worker_sleep(worker_list &workers) noexcept : workers_(workers) {}

    void begin_search() noexcept { idle_.begin_search(); }
    // True when nobody else searches.
    [[nodiscard]] bool end_search() noexcept { return idle_.end_search(); }

    // Polling helps only while a task that may put something runs on another CPU; with more workers awake than CPUs it
    // takes the time from them.
    [[nodiscard]] bool polling_pays(unsigned cpus) const noexcept {
        std::size_t count = workers_.size();
        return count - idle_.sleepers() <= cpus && 2 * idle_.searchers() <= std::min<std::size_t>(count, cpus);
    }

    // pool.P3. True when `one` slept and has been woken.
    bool notify(worker &one) noexcept {
        std::uint32_t expected = sleeping;
        if (!one.sleep.compare_exchange_strong(expected, notified, std::memory_order_seq_cst))
            return false;
        one.sleep.notify_one();
        return true;
    }

    // pool.P1, the side of the task that has put something.
    void wake_one() noexcept {
        if (!idle_.nobody_searches_and_some_sleep())
            return;
        for (worker &one : workers_) {
            std::uint32_t seen = one.sleep.load(std::memory_order_seq_cst);
            if (seen == notified || (seen == sleeping && notify(one)))
                return; // it will search
        }
    }

    // pool.P1, the side of the task that sleeps; for a searcher, which it is again after it. Returns for any reason.
    // `stays_awake()` looks at all queues.
    template <class StaysAwake>
    void sleep(worker &me, StaysAwake stays_awake) noexcept {
        me.sleep.store(sleeping, std::memory_order_seq_cst);
        idle_.search_to_sleep();
        if (stays_awake()) {
            std::uint32_t expected = sleeping;
            if (me.sleep.compare_exchange_strong(expected, awake, std::memory_order_seq_cst)) {
                idle_.sleep_to_search();
                return;
            }
        } else {
            me.slept.add();
            while (me.sleep.load(std::memory_order_seq_cst) == sleeping)
                me.sleep.wait(sleeping, std::memory_order_seq_cst);
        }
        // Each counts itself: a notifier that was slow to do it would make others believe that somebody searches, or
        // that nobody sleeps. Counted before it is AWAKE, so that it is seen as the one or the other.
        idle_.sleep_to_search();
        me.sleep.store(awake, std::memory_order_seq_cst);
    }

private:
    worker_list &workers_;
    idle_counts idle_;
};

} // namespace holdfast::coro
