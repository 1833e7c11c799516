// SPDX-License-Identifier: MIT OR Apache-2.0
// A pool: what each worker does from the start of its thread to its end. What is ready, and in which order it is taken,
// is in ready_work.hpp; who sleeps and who wakes, and why no wake-up is lost (pool.P1), in worker_sleep.hpp.
#include "holdfast/coro/pool.hpp"

#include <atomic>
#include <chrono>
#include <sched.h>
#include <thread>

#include "holdfast/coro/detail/checks.hpp"
#include "holdfast/coro/detail/root_list.hpp"
#include "holdfast/coro/detail/timer_queue.hpp"
#include "node_map.hpp"
#include "quiet_thread.hpp"
#include "ready_work.hpp"
#include "worker.hpp"
#include "worker_sleep.hpp"

namespace holdfast::coro {
namespace {

constexpr unsigned searches_max = 60; // before a worker sleeps, where spinning pays
constexpr std::chrono::seconds looks_apart{1};

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

} // namespace

class pool::state {
public:
    state(pool &owner, pool_options options) : state(owner, options, cpus_usable()) {}

    state(pool &owner, pool_options options, const cpu_set_t &usable)
        : owner_(owner), cpus_(count_of(usable)), chain_max_(options.chain_max > 0 ? options.chain_max : 1),
          turns_(options.turns), nodes_(node_map::read(usable)), work_(workers_, sleepers_, chain_max_) {
        unsigned count = options.workers > 0 ? options.workers : cpus_.load(std::memory_order_relaxed);
        homes_ = nodes_.homes(count);
        for (unsigned i = 0; i < count; i++) {
            worker &one = workers_.emplace_back();
            one.number = i;
            one.victims = nodes_.victims(i, count, homes_);
        }
    }

    void start() {
        try {
            for (worker &one : workers_)
                one.thread = start_quiet_thread([this, &one] { work(one); });
        } catch (...) {
            join();
            throw;
        }
    }

    // After the end they do nothing.
    void put(std::coroutine_handle<> ready) noexcept {
        if (stopping())
            return;
        run_context *context = current_context();
        if (context && context->home == &owner_)
            work_.put_own(workers_[context->worker], ready);
        else
            work_.put_common(ready);
    }
    void put_common(ready_queue::entry ready) noexcept {
        if (!stopping())
            work_.put_common(ready);
    }
    void put_urgent(std::coroutine_handle<> owner) noexcept {
        if (!stopping())
            work_.put_urgent(owner);
    }

    crowd waiting() const noexcept {
        return turns_ ? work_.waiting(workers_[current_context()->worker]) : crowd::nobody;
    }

    void join() noexcept {
        stopping_.store(true, std::memory_order_seq_cst);
        for (worker &one : workers_) {
            sleepers_.notify(one);
            if (one.thread.joinable())
                one.thread.join();
        }
    }

    // Its coroutines may be destroyed once the workers have ended.
    root_list &roots() noexcept { return roots_; }

    timer_queue &timers() noexcept { return timers_; }
    const worker_list &workers() const noexcept { return workers_; }

private:
    bool stopping() const noexcept { return stopping_.load(std::memory_order_seq_cst); }

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
        context.alone = workers_.size() == 1;
        context.spinning_pays = spinning_pays();
        auto stop = [](void *self) { return static_cast<state *>(self)->stopping(); };
        while (std::coroutine_handle<> next = await_next(me, context)) {
            context.current_turn.operations = 0;
            context.turn_was_over = false;
            me.resumed.add();
            run(context, next, stop, this);
        }
    }

    bool spinning_pays() const noexcept { return cpus_.load(std::memory_order_relaxed) > 1 && workers_.size() > 1; }

    // A cpuset may change, and workers may be pinned. Those that stay at home see the CPUs of one node alone.
    void count_cpus_now_and_then(worker &me) noexcept {
        auto now = std::chrono::steady_clock::now();
        if (!homes_.empty() || now < me.counts_cpus_at)
            return;
        me.counts_cpus_at = now + looks_apart;
        cpu_set_t usable = cpus_usable();
        if (int count = CPU_COUNT(&usable); count > 0)
            cpus_.store(static_cast<unsigned>(count), std::memory_order_relaxed);
    }

    // Null when the pool ends.
    std::coroutine_handle<> await_next(worker &me, run_context &context) noexcept {
        std::coroutine_handle<> found = work_.find(me, context);
        if (found)
            return stopping() ? nullptr : found;
        sleepers_.begin_search();
        while (!stopping()) {
            found = search(me, context);
            if (found) {
                if (sleepers_.end_search() && work_.something_is_ready())
                    sleepers_.wake_one(); // pool.P2
                return found;
            }
            count_cpus_now_and_then(me);
            sleepers_.sleep(me, [this] { return work_.something_is_ready() || stopping(); });
        }
        static_cast<void>(sleepers_.end_search());
        return nullptr;
    }

    std::coroutine_handle<> search(worker &me, run_context &context) noexcept {
        context.spinning_pays = spinning_pays();
        unsigned searches = sleepers_.polling_pays(cpus_.load(std::memory_order_relaxed)) ? searches_max : 1;
        for (unsigned i = 0; i < searches && !stopping(); i++) {
            if (std::coroutine_handle<> found = work_.find(me, context))
                return found;
            pause_polling();
        }
        return nullptr;
    }

    pool &owner_;
    std::atomic<unsigned> cpus_;
    unsigned chain_max_;
    bool turns_;
    node_map nodes_;
    std::vector<std::size_t> homes_; // of each worker; empty: the kernel places them
    worker_list workers_;
    worker_sleep sleepers_{workers_};
    ready_work work_;
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
    state_->put_common({ready, true});
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
    if (run_context *context = current_context(); context && context->home == this)
        detail::misused(
            "a pool is shut down by one of its own workers, which would wait for itself: let the thread that "
            "made the pool end it");
    begin_end();
    state_->join();
    state_->timers().close(); // a limit that passes lets others in, whose frames may just be destroyed
    state_->roots().destroy_all();
    state_->timers().expire_all();
    end();
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
