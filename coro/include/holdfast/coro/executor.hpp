// SPDX-License-Identifier: MIT OR Apache-2.0
// Where coroutines run: what a primitive asks of an executor, and the slot through which one coroutine passes its
// thread to another without recursion.
//
// A thread that runs coroutines does so in a loop, with a `run_context` of its own:
//
//     resume() a coroutine --> it suspends, and may have put another into the slot --> resume() that one --> ...
//                                                    nothing in the slot, nothing deferred --> back to the executor
//
// A coroutine may resume another by hand (handle.resume(), or the call of one that starts at once), which fills the
// slot and comes back; then its caller fills it again before the loop has seen it.
//
// coro.L1  A coroutine in the slot is resumed: the next one to come queues the one that is there (pass_on).
// Test: tests/coro/resumed_by_hand_test.
//
// So a million hand-overs need the stack of one, in every build mode. (Symmetric transfer needs tail calls, which g++
// 12 does not make at -O0 or under ThreadSanitizer.) Test: tests/coro/mutex_test.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "holdfast/coro/detail/executor_life.hpp"
#include "holdfast/coro/detail/handle_queue.hpp"
#include "holdfast/coro/detail/turn.hpp"

namespace holdfast::coro {

class timer_queue;

// The executor has ended before the task did, or before what it waited for came.
class executor_stopped : public std::runtime_error {
public:
    executor_stopped() : std::runtime_error("the executor was shut down before the task had ended") {}
};

// A time limit, or a sleep, in a coroutine that runs on no executor: nobody would ever end it.
class no_executor : public std::logic_error {
public:
    no_executor()
        : std::logic_error("a time limit needs an executor, and this coroutine is on none: it was started, or resumed "
                           "by handle.resume(), on a thread of others; spawn it on an executor, co_await "
                           "resume_on(executor) before, or await callbacks by from_callback()") {}
};

// Whatever can be told to resume a coroutine. Requirements: neither function resumes it before it returns, throws, or
// may be refused; each handle is resumed once.
template <class Executor>
concept executor = requires(Executor &on, std::coroutine_handle<> ready) {
    on.schedule(ready);        // the calling thread is as good as any
    on.schedule_remote(ready); // the calling thread is busy: another one must be able to take it at once
};

// A coroutine that nobody awaits: what an executor destroys when it ends before the coroutine does.
struct root {
    root *next = nullptr;
    root *previous = nullptr;
    void (*abandon)(root &) noexcept = nullptr; // destroys the coroutine, and says so to whom it concerns
};

// The base of every executor here, and of yours (docs/coroutines-reference.md, "Executors of others").
class executor_base {
public:
    virtual void schedule(std::coroutine_handle<> ready) noexcept = 0;
    virtual void schedule_remote(std::coroutine_handle<> ready) noexcept = 0;
    // `owner` has been given a lock: nobody gets it before `owner` has run.
    virtual void schedule_urgent(std::coroutine_handle<> owner) noexcept { schedule_remote(owner); }
    // As schedule_remote(), for a coroutine that has had its turn (turn.hpp).
    virtual void schedule_rotated(std::coroutine_handle<> ready) noexcept { schedule_remote(ready); }
    // Asked by a coroutine that runs here. Where it can't be known, nobody's turn is ever over.
    [[nodiscard]] virtual crowd waiting() const noexcept { return crowd::nobody; }
    // Where time limits of waits are kept.
    virtual timer_queue &timers() noexcept = 0;

    // From adopt() to disown() the executor destroys `one` if it ends. False when it has ended already.
    virtual bool adopt(root &one) noexcept {
        static_cast<void>(one);
        return true;
    }
    virtual void disown(root &one) noexcept { static_cast<void>(one); }

    // What a waiter keeps of its executor (executor_life.hpp).
    [[nodiscard]] detail::executor_life *life() const noexcept { return life_; }
    [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }

protected:
    executor_base();
    executor_base(const executor_base &) = delete;
    executor_base &operator=(const executor_base &) = delete;
    ~executor_base();

    // A derived executor that may end while threads which are not its own wake its coroutines calls the one before it
    // destroys their frames, and the other after that, both before its own parts go. The second call does nothing.
    // After begin_end() no such thread calls the executor; end() resumes coroutines that waited here and belong
    // elsewhere, with executor_stopped.
    void begin_end() noexcept;
    void end() noexcept;

private:
    detail::executor_life *life_; // null: it has ended
    std::uint32_t generation_;
};

// A coroutine that goes on, on this very thread, after those that it has let go first. Lives in its awaiter.
struct deferred {
    std::coroutine_handle<> handle;
    deferred *below = nullptr;
};

inline constexpr unsigned chain_default = 64;

struct run_context {
    executor_base *home = nullptr; // null: resumed by hand
    unsigned worker = 0;
    unsigned chain = 0; // hand-overs since this thread took something from a queue
    unsigned chain_max = chain_default;
    bool others_first = false;    // the chain was ended for the sake of who else waits for this thread
    bool alone = false;           // no other worker could take what this one queues
    turn current_turn;            // of whatever this thread runs
    bool turn_was_over = false;   // noted where that could not be suspended
    bool spinning_pays = false;   // the holder of a lock may be running on another CPU
    std::coroutine_handle<> slot; // written by pass_on() and run() alone
    deferred *deferred_top = nullptr;
    handle_queue after_all; // tasks that go on here when no others do, where there is no `home` to queue them
};

// This thread's, or null where no coroutine runs. Not inline: a coroutine that was moved to another thread must not use
// an address of thread-local storage that it has computed before.
[[nodiscard]] run_context *current_context() noexcept;

namespace detail {

[[noreturn]] void throw_executor_stopped();
[[noreturn]] void throw_no_executor();

// Queues the task in the slot as others wait for it: it may own a lock.
void clear_slot(run_context &context) noexcept;

} // namespace detail

// Makes `next` run on this thread, whose context that is, as soon as the caller has been suspended (coro.L1).
inline void pass_on(run_context &context, std::coroutine_handle<> next) noexcept {
    if (context.slot) [[unlikely]]
        detail::clear_slot(context);
    context.slot = next;
}

// Resumes `ready`, and after it whatever is passed through the slot, on this thread, with `context` as its own; stops
// early when *stop (if there is one) says so.
void run(run_context &context, std::coroutine_handle<> ready, bool (*stop)(void *), void *argument) noexcept;

// The same for threads of other pools: what an adapter calls there.
void run_here(executor_base &home, unsigned worker, std::coroutine_handle<> ready) noexcept;

// For a coroutine that was never on an executor: runs it at once, or, called by another of that kind, when that one and
// those before it are suspended: so a chain of them needs the stack of one.
void run_here_by_hand(std::coroutine_handle<> ready) noexcept;

// Makes `next` run on this thread as soon as the caller, which is suspended, has returned from await_suspend. The
// caller's frame may be gone when this returns.
void resume_next(std::coroutine_handle<> next) noexcept;

// Suspends the caller and queues it behind what else is ready.
class [[nodiscard]] yield {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> self) const noexcept {
        run_context *context = current_context();
        if (!context || !context->home)
            return false;
        context->home->schedule_remote(self);
        return true;
    }
    void await_resume() const noexcept {}
};

// Suspends the caller and resumes it on another executor.
class [[nodiscard]] resume_on {
public:
    explicit resume_on(executor_base &there) noexcept : there_(there) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const noexcept { there_.schedule_remote(self); }
    void await_resume() const noexcept {}

private:
    executor_base &there_;
};

} // namespace holdfast::coro
