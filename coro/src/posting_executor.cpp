// SPDX-License-Identifier: MIT OR Apache-2.0
// What is inside when it ends (G2):
//
//      a ticket                     shutdown()
//      running + 1                  over := true
//      over? --yes--> running - 1   wait until running is 0
//        | no                       destroy what was spawned
//      run one, running - 1
//
// Both write before they read, in the total order of sequentially consistent operations: a ticket that shutdown() does
// not see has seen that it is over.
#include "holdfast/coro/executors/posting_executor.hpp"

#include <atomic>

#include "holdfast/coro/detail/checks.hpp"
#include "holdfast/coro/detail/root_list.hpp"
#include "holdfast/coro/detail/timer_queue.hpp"
#include "ready_queue.hpp"

namespace holdfast::coro {

class posting_executor::state : public std::enable_shared_from_this<state> {
public:
    state(posting_executor &owner, std::function<void(ticket, placement)> post, posting_options options)
        : owner_(owner), post_(std::move(post)), options_(options) {
        if (options_.chain_max == 0)
            options_.chain_max = 1;
    }

    void put(ready_queue::entry ready, placement where) noexcept { put_into(ready_, ready, where); }
    void put_urgent(std::coroutine_handle<> owner) noexcept { put_into(urgent_, owner, placement::elsewhere); }

    void run_one() noexcept {
        running_.fetch_add(1, std::memory_order_seq_cst);
        ready_queue::entry one;
        if (!over() && (urgent_.take(&one, 1) == 1 || ready_.take(&one, 1) == 1)) { // G1
            run_context context;
            context.home = &owner_;
            context.chain_max = options_.chain_max;
            context.spinning_pays = options_.spinning_pays;
            context.current_turn.begin_unclocked();
            run(
                context, one.handle, [](void *self) { return static_cast<state *>(self)->over(); }, this);
        }
        if (running_.fetch_sub(1, std::memory_order_seq_cst) == 1 && over())
            running_.notify_all();
    }

    // Of what else its threads have to do nothing is known: something, but that it waits.
    [[nodiscard]] crowd waiting() const noexcept {
        if (!options_.turns)
            return crowd::nobody;
        return ready_.has_guests() || !urgent_.looks_empty() ? crowd::guests : crowd::rotated;
    }

    void shutdown() noexcept {
        over_.store(true, std::memory_order_seq_cst);
        while (std::uint32_t still = running_.load(std::memory_order_seq_cst))
            running_.wait(still, std::memory_order_seq_cst);
        timers.close(); // a limit that passes lets others in, whose frames may just be destroyed
        roots.destroy_all();
        timers.expire_all();
    }

    root_list roots;
    timer_queue timers;

private:
    [[nodiscard]] bool over() const noexcept { return over_.load(std::memory_order_seq_cst); }

    void put_into(ready_queue &queue, ready_queue::entry one, placement where) noexcept {
        if (over())
            return;
        queue.put(one);
        post_(ticket(shared_from_this()), where); // G1: after it was put
    }

    posting_executor &owner_;
    std::function<void(ticket, placement)> post_;
    posting_options options_;
    ready_queue urgent_; // owners of locks
    ready_queue ready_;
    std::atomic<bool> over_ = false;
    std::atomic<std::uint32_t> running_ = 0; // tickets being called
};

void posting_executor::ticket::operator()() const noexcept {
    of_->run_one();
}

posting_executor::posting_executor(std::function<void(ticket)> post, posting_options options)
    : posting_executor([post = std::move(post)](ticket one, placement) { post(std::move(one)); }, options) {}

posting_executor::posting_executor(std::function<void(ticket, placement)> post, posting_options options)
    : state_(std::make_shared<state>(*this, std::move(post), options)) {}

posting_executor::~posting_executor() {
    shutdown();
}

void posting_executor::schedule(std::coroutine_handle<> ready) noexcept {
    state_->put(ready, placement::anywhere);
}

void posting_executor::schedule_remote(std::coroutine_handle<> ready) noexcept {
    state_->put(ready, placement::elsewhere);
}

void posting_executor::schedule_urgent(std::coroutine_handle<> owner) noexcept {
    state_->put_urgent(owner);
}

void posting_executor::schedule_rotated(std::coroutine_handle<> ready) noexcept {
    state_->put({ready, true}, placement::elsewhere);
}

crowd posting_executor::waiting() const noexcept {
    return state_->waiting();
}

timer_queue &posting_executor::timers() noexcept {
    return state_->timers;
}

bool posting_executor::adopt(root &one) noexcept {
    return state_->roots.add(one);
}

void posting_executor::disown(root &one) noexcept {
    state_->roots.remove(one);
}

void posting_executor::shutdown() noexcept {
    if (run_context *context = current_context(); context && context->home == this)
        detail::misused("an executor is shut down by a coroutine that runs on it, which would wait for itself: let the "
                        "thread that made the executor end it");
    begin_end();
    state_->shutdown();
    end();
}

} // namespace holdfast::coro
