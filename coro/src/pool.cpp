// SPDX-License-Identifier: MIT OR Apache-2.0
// Who sleeps and who wakes.
//
//              nothing found                 nothing found, announced, looked again
//   RUNNING ------------------> SEARCHING -----------------------------------------> SLEEPING
//      ^                           | ^                                                  |
//      +-------- found ------------+ +---- found at the second look (AWAKE), woken -----+
//                                                                         (NOTIFIED)
//
// P1  No lost wake-up. While something is ready, a worker is running or searching, or one has been notified. Who puts
//     looks for sleepers after it; who goes to sleep looks at all queues after it has said so; both in the total order
//     of sequentially consistent operations, so that one of them sees the other.
// P2  Who puts may leave the wake to a worker that is searching already: that one, when it finds something and was the
//     last that searched, stops being a searcher, then looks whether there is more, and if so wakes another; when it
//     finds nothing, it announces its sleep, stops being a searcher, and looks again, in this order.
// P3  A sleeper is notified by one thread: the compare-and-swap from SLEEPING decides. Who is NOTIFIED will search.
// Models: verify/coro_mutex.pml, verify/coro_turn.pml. Tests: tests/coro/primitives_test, tests/coro/stress_test.
#include "holdfast/coro/pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <sched.h>
#include <thread>

#include "holdfast/coro/timer_queue.hpp"
#include "idle_counts.hpp"
#include "node_map.hpp"
#include "ready_queue.hpp"
#include "root_list.hpp"
#include "signals_blocked.hpp"
#include "worker_queue.hpp"

namespace holdfast::coro {
namespace {

enum : std::uint32_t { awake, sleeping, notified };

constexpr std::size_t batch_max = 16; // taken at a time from the common queue or from another worker
constexpr unsigned common_first_every = 16;
constexpr unsigned searches_max = 60; // before a worker sleeps, where spinning pays

// Empty when the kernel does not say, or has more CPUs than the set has room for.
cpu_set_t cpus_usable() {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof(usable), &usable) != 0)
        CPU_ZERO(&usable);
    return usable;
}

unsigned count_of(const cpu_set_t &usable) {
    int count = CPU_COUNT(&usable);
    unsigned online = count > 0 ? static_cast<unsigned>(count) : std::thread::hardware_concurrency();
    return online > 0 ? online : 1;
}

// Counters that one thread writes and any may read.
class counter {
public:
    void add(std::uint64_t by = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }
    std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_ = 0;
};

struct alignas(64) worker {
    worker_queue ready; // scheduled by this worker
    std::atomic<std::uint32_t> sleep = awake;
    unsigned number = 0;
    unsigned taken = 0;
    std::vector<std::size_t> victims; // in the order in which it steals from them
    counter resumed, stolen, slept;
    std::thread thread;
};

} // namespace

class pool::state {
public:
    state(pool &owner, pool_options options) : state(owner, options, cpus_usable()) {}

    state(pool &owner, pool_options options, const cpu_set_t &usable)
        : owner_(owner), cpus_(count_of(usable)), chain_max_(options.chain_max > 0 ? options.chain_max : 1),
          turns_(options.turns), nodes_(node_map::read(usable)) {
        unsigned count = options.workers > 0 ? options.workers : cpus_;
        homes_ = nodes_.homes(count);
        for (unsigned i = 0; i < count; i++) {
            worker &one = workers_.emplace_back();
            one.number = i;
            one.victims = nodes_.victims(i, count, homes_);
        }
    }

    void start() {
        signals_blocked quiet;
        try {
            for (worker &one : workers_)
                one.thread = std::thread([this, &one] { work(one); });
        } catch (...) {
            join();
            throw;
        }
    }

    void put(std::coroutine_handle<> ready) noexcept {
        run_context *context = current_context();
        if (context && context->home == &owner_)
            put_local(workers_[context->worker], ready);
        else
            put_into(common_, ready);
    }

    void put_common(std::coroutine_handle<> ready) noexcept { put_into(common_, ready); }

    void put_rotated(std::coroutine_handle<> ready) noexcept { put_into(common_, {ready, true}); }

    void put_urgent(std::coroutine_handle<> owner) noexcept { put_into(urgent_, owner); }

    // Of what the calling worker would take before it steals.
    crowd waiting() const noexcept {
        if (!turns_)
            return crowd::nobody;
        const worker &me = workers_[current_context()->worker];
        if (me.ready.has_guests() || common_.has_guests() || !urgent_.looks_empty())
            return crowd::guests;
        return me.ready.looks_empty() && common_.looks_empty() ? crowd::nobody : crowd::rotated;
    }

    void join() noexcept {
        stopping_.store(true, std::memory_order_seq_cst);
        for (worker &one : workers_) {
            notify(one);
            if (one.thread.joinable())
                one.thread.join();
        }
    }

    // Its coroutines may be destroyed once the workers have ended.
    root_list &roots() noexcept { return roots_; }

    timer_queue &timers() noexcept { return timers_; }
    const std::deque<worker> &workers() const noexcept { return workers_; }

private:
    bool stopping() const noexcept { return stopping_.load(std::memory_order_seq_cst); }

    void put_into(ready_queue &queue, ready_queue::entry ready) noexcept {
        if (stopping())
            return;
        queue.put(ready);
        wake_one();
    }

    void put_local(worker &me, ready_queue::entry ready) noexcept {
        if (stopping())
            return;
        put_own(me, &ready, 1);
        wake_one();
    }

    // Without its wake. What the worker's queue has no room for goes where all find it.
    void put_own(worker &me, const ready_queue::entry *ready, std::size_t count) noexcept {
        for (std::size_t i = me.ready.put(ready, count); i < count; i++)
            common_.put(ready[i]);
    }

    // P3. True when `one` slept and has been woken.
    bool notify(worker &one) noexcept {
        std::uint32_t expected = sleeping;
        if (!one.sleep.compare_exchange_strong(expected, notified, std::memory_order_seq_cst))
            return false;
        one.sleep.notify_one();
        return true;
    }

    // P1, the side of who has put something.
    void wake_one() noexcept {
        if (!idle_.nobody_searches_and_some_sleep())
            return;
        for (worker &one : workers_) {
            std::uint32_t seen = one.sleep.load(std::memory_order_seq_cst);
            if (seen == notified || (seen == sleeping && notify(one)))
                return; // it will search
        }
    }

    // On a machine with several memory nodes a worker stays on its own, or the order of its victims would mean nothing.
    // If the kernel refuses, that costs speed alone.
    void stay_at_home(const worker &me) const noexcept {
        if (homes_.empty())
            return;
        cpu_set_t home;
        CPU_ZERO(&home);
        for (unsigned cpu : nodes_.nodes()[homes_[me.number]].cpus)
            CPU_SET(cpu, &home);
        static_cast<void>(sched_setaffinity(0, sizeof(home), &home));
    }

    void work(worker &me) noexcept {
        stay_at_home(me);
        run_context context;
        context.home = &owner_;
        context.worker = me.number;
        context.chain_max = chain_max_;
        context.spinning_pays = cpus_ > 1 && workers_.size() > 1;
        auto stop = [](void *self) { return static_cast<state *>(self)->stopping(); };
        while (std::coroutine_handle<> next = await_next(me, context)) {
            context.current_turn.operations = 0;
            me.resumed.add();
            run(context, next, stop, this);
        }
    }

    // Null when the pool ends.
    std::coroutine_handle<> await_next(worker &me, run_context &context) noexcept {
        std::coroutine_handle<> found = find(me, context);
        if (found)
            return stopping() ? nullptr : found;
        idle_.begin_search();
        while (!stopping()) {
            found = search(me, context);
            if (found) {
                if (idle_.end_search() && something_is_ready())
                    wake_one(); // P2
                return found;
            }
            sleep(me); // and is a searcher again
        }
        idle_.end_search();
        return nullptr;
    }

    // Of what is meant for this worker, or for all. Owners of locks come first; but those that it takes one after
    // another count as a chain of hand-overs does: who else is ready would starve behind them in the same way.
    std::coroutine_handle<> find(worker &me, run_context &context) noexcept {
        ready_queue::entry found;
        bool others_first = std::exchange(context.others_first, false) || context.chain + 1 >= chain_max_;
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

    // All but the first. While they were in no queue somebody may have found nothing and fallen asleep (P1).
    void keep(worker &me, const ready_queue::entry *batch, std::size_t count) noexcept {
        if (count == 1)
            return;
        put_own(me, batch + 1, count - 1);
        wake_one();
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

    // Polling helps only while whoever may put something runs on another CPU; with more workers awake than CPUs it
    // takes the time from them.
    bool searching_pays() const noexcept {
        std::size_t count = workers_.size();
        return count - idle_.sleepers() <= cpus_ && 2 * idle_.searchers() <= std::min<std::size_t>(count, cpus_);
    }

    std::coroutine_handle<> search(worker &me, run_context &context) noexcept {
        unsigned searches = searching_pays() ? searches_max : 1;
        for (unsigned i = 0; i < searches && !stopping(); i++) {
            if (std::coroutine_handle<> found = find(me, context))
                return found;
            pause_polling();
        }
        return nullptr;
    }

    bool something_is_ready() const noexcept {
        if (!urgent_.looks_empty() || !common_.looks_empty())
            return true;
        for (const worker &one : workers_)
            if (!one.ready.looks_empty())
                return true;
        return false;
    }

    // P1, the side of who sleeps. Returns for any reason, as a searcher.
    void sleep(worker &me) noexcept {
        me.sleep.store(sleeping, std::memory_order_seq_cst);
        idle_.search_to_sleep();
        if (something_is_ready() || stopping()) {
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

    pool &owner_;
    unsigned cpus_;
    unsigned chain_max_;
    bool turns_;
    node_map nodes_;
    std::vector<std::size_t> homes_; // of each worker; empty: the kernel places them
    std::deque<worker> workers_;     // not moved
    ready_queue urgent_;             // owners of locks: whoever comes by first takes them
    ready_queue common_;             // from outside, and unlockers that gave their thread away
    idle_counts idle_;
    std::atomic<bool> stopping_ = false;
    root_list roots_;
    timer_queue timers_;
};

pool::pool(pool_options options) : state_(std::make_unique<state>(*this, options)) {
    state_->start();
}

pool::~pool() {
    shutdown();
}

void pool::schedule(std::coroutine_handle<> ready) noexcept {
    state_->put(ready);
}

void pool::schedule_remote(std::coroutine_handle<> ready) noexcept {
    state_->put_common(ready);
}

void pool::schedule_urgent(std::coroutine_handle<> owner) noexcept {
    state_->put_urgent(owner);
}

void pool::schedule_rotated(std::coroutine_handle<> ready) noexcept {
    state_->put_rotated(ready);
}

crowd pool::waiting() const noexcept {
    return state_->waiting();
}

timer_queue &pool::timers() noexcept {
    return state_->timers();
}

bool pool::adopt(root &one) noexcept {
    return state_->roots().add(one);
}

void pool::disown(root &one) noexcept {
    state_->roots().remove(one);
}

void pool::shutdown() noexcept {
    if (run_context *context = current_context(); context && context->home == this) {
        std::fputs(
            "holdfast: a pool is shut down by one of its own workers, which would wait for itself: let the thread "
            "that made the pool end it\n",
            stderr);
        std::abort();
    }
    state_->join();
    state_->timers().close(); // a limit that passes lets others in, whose frames may just be destroyed
    state_->roots().destroy_all();
}

unsigned pool::workers() const noexcept {
    return static_cast<unsigned>(state_->workers().size());
}

std::vector<worker_counts> pool::counts() const {
    std::vector<worker_counts> all;
    for (const worker &one : state_->workers())
        all.push_back({one.resumed.value(), one.stolen.value(), one.slept.value()});
    return all;
}

} // namespace holdfast::coro
