// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines on threads of somebody else, to whom functions can be posted. What is ready waits in queues of the
// executor's own; posted are only tickets, each of which takes one coroutine out, an owner of a lock first. So a
// hand-over by combine-and-exchange works there as on a pool, and this executor can end while its tickets still lie
// about there.
//
// G1  For each coroutine in the queues there is one ticket, posted or running. So each ticket finds one: when it finds
//     no owner, at least as many others have been queued as tickets have gone to look for them.
// G2  Once shutdown() has returned, no ticket touches anything but what it shares with its like.
// Test: tests/coro/executors_test.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "holdfast/coro/executor.hpp"

namespace holdfast::coro {

struct posting_options {
    unsigned chain_max = chain_default; // hand-overs in a row on one thread. At least 1
    bool spinning_pays = false;         // there are several threads, and CPUs for them: lock() may poll a moment
    bool turns = true; // a task that never has to wait is suspended now and then: others may have work here
};

// Which thread should run a ticket.
enum class placement : std::uint8_t {
    anywhere, // the calling one is as good as any
    elsewhere // the calling one is busy
};

class posting_executor : public executor_base {
    class state;

public:
    // What is posted: to be called once, on any thread, or to be destroyed. As large as two pointers; copies are one
    // ticket, of which one may be called.
    class ticket {
    public:
        void operator()() const noexcept;

    private:
        friend class state;
        explicit ticket(std::shared_ptr<state> of) noexcept : of_(std::move(of)) {}
        std::shared_ptr<state> of_;
    };

    // `post` is called from any thread. Requires: it does not call the ticket before it returns, and does not throw
    // (the program ends then, since somebody may already own a lock). It must be callable until shutdown() has
    // returned.
    explicit posting_executor(std::function<void(ticket)> post, posting_options options = {});
    explicit posting_executor(std::function<void(ticket, placement)> post, posting_options options = {});
    // Ends it: see shutdown(). A class derived from this one calls that itself, first of all in its destructor:
    // coroutines that run call virtual functions.
    virtual ~posting_executor();
    posting_executor(const posting_executor &) = delete;
    posting_executor &operator=(const posting_executor &) = delete;

    void schedule(std::coroutine_handle<> ready) noexcept override;
    void schedule_remote(std::coroutine_handle<> ready) noexcept override;
    void schedule_urgent(std::coroutine_handle<> owner) noexcept override;
    void schedule_rotated(std::coroutine_handle<> ready) noexcept override;
    [[nodiscard]] crowd waiting() const noexcept override;
    timer_queue &timers() noexcept override;
    bool adopt(root &one) noexcept override;
    void disown(root &one) noexcept override;

    // Waits until each coroutine that runs has come to its next suspension; then destroys those that were spawned here
    // and have not ended, as pool::shutdown() does. A second call does nothing. Not from a coroutine that runs here.
    void shutdown() noexcept;

private:
    std::shared_ptr<state> state_;
};

} // namespace holdfast::coro
