// SPDX-License-Identifier: MIT OR Apache-2.0
// The coroutines of a pool that can run, and in which order a worker takes them.
//
//     urgent    owners of locks: whoever comes by first takes them        first, but for the bound of a chain
//     own       of each worker, scheduled by it; others steal             then, FIFO
//     common    from outside, and who gave its thread away                then; each 16th time before own
//     others'                                                             last
//
// coro.T1  A ready coroutine runs after a bounded number of sections of others (verify/coro/turn.pml).
// Test: tests/coro/turn_test, tests/coro/primitives_test.
#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>

#include "holdfast/coro/executor.hpp"
#include "ready_queue.hpp"
#include "worker.hpp"
#include "worker_sleep.hpp"

namespace holdfast::coro {

class ready_work {
public:
    ready_work(worker_list &workers, worker_sleep &sleepers, unsigned chain_max) noexcept
        : workers_(workers), sleepers_(sleepers), chain_max_(chain_max) {}

    void put_own(worker &me, ready_queue::entry ready) noexcept {
        keep_own(me, &ready, 1);
        sleepers_.wake_one();
    }
    void put_common(ready_queue::entry ready) noexcept {
        common_.put(ready);
        sleepers_.wake_one();
    }
    void put_urgent(std::coroutine_handle<> owner) noexcept {
        urgent_.put(owner);
        sleepers_.wake_one();
    }

    // Of what `me` would take before it steals.
    [[nodiscard]] crowd waiting(const worker &me) const noexcept {
        if (me.ready.has_guests() || common_.has_guests() || !urgent_.looks_empty())
            return crowd::guests;
        return me.ready.looks_empty() && common_.looks_empty() ? crowd::nobody : crowd::rotated;
    }

    [[nodiscard]] bool something_is_ready() const noexcept {
        if (!urgent_.looks_empty() || !common_.looks_empty())
            return true;
        for (const worker &one : workers_)
            if (!one.ready.looks_empty())
                return true;
        return false;
    }

    // Of what is meant for this worker, or for all. Owners of locks come first; but those that it takes one after
    // another count as a chain of hand-overs does: any other task that is ready would starve behind them in the same
    // way.
    [[nodiscard]] std::coroutine_handle<> find(worker &me, run_context &context) noexcept {
        ready_queue::entry found;
        // One owner at least between two of the others: with a chain_max of 1 they would starve instead.
        bool chain_is_full = context.chain > 0 && context.chain + 1 >= chain_max_;
        bool others_first = std::exchange(context.others_first, false) || chain_is_full;
        if (!others_first && urgent_.take(&found, 1) == 1) {
            context.chain++;
            return found.handle;
        }
        context.chain = 0;
        // Owners do not count: where chain_max is a multiple of it, the common queue's turn could always be an owner's.
        bool common_first = ++me.taken % common_first_every == 0;
        if (common_first && take_common(me, found))
            return found.handle;
        if (me.ready.get(found) || (!common_first && take_common(me, found)))
            return found.handle;
        if (others_first && urgent_.take(&found, 1) == 1)
            return found.handle;
        return steal(me);
    }

private:
    static constexpr std::size_t batch_max = 16; // taken at a time from the common queue or from another worker
    static constexpr unsigned common_first_every = 16;

    // A share of the common queue: so many that the others find as many, and at most a batch.
    bool take_common(worker &me, ready_queue::entry &found) noexcept {
        ready_queue::entry batch[batch_max];
        std::size_t share = common_.size() / (2 * workers_.size());
        std::size_t count = common_.take(batch, share < 1 ? 1 : share > batch_max ? batch_max : share);
        if (count == 0)
            return false;
        found = batch[0];
        keep(me, batch, count);
        return true;
    }

    // All but the first. While they were in no queue somebody may have found nothing and fallen asleep (pool.P1).
    void keep(worker &me, const ready_queue::entry *batch, std::size_t count) noexcept {
        if (count == 1)
            return;
        keep_own(me, batch + 1, count - 1);
        sleepers_.wake_one();
    }

    // Half of what another worker has, or nearly so.
    std::coroutine_handle<> steal(worker &me) noexcept {
        ready_queue::entry batch[batch_max];
        for (std::size_t number : me.victims) {
            std::size_t count = workers_[number].ready.steal(batch, batch_max);
            if (count == 0)
                continue;
            me.stolen.add(count);
            keep(me, batch, count);
            return batch[0].handle;
        }
        return nullptr;
    }

    // Without its wake. What the worker's queue has no room for goes where all find it.
    void keep_own(worker &me, const ready_queue::entry *ready, std::size_t count) noexcept {
        for (std::size_t i = me.ready.put(ready, count); i < count; i++)
            common_.put(ready[i]);
    }

    worker_list &workers_;
    worker_sleep &sleepers_;
    unsigned chain_max_;
    ready_queue urgent_, common_;
};

} // namespace holdfast::coro
