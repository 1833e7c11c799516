// SPDX-License-Identifier: MIT OR Apache-2.0
// Waits for primitives of this library on behalf of another one, as Asio. Each is a coroutine of ours on an executor of
// its own, which resumes it where the other library says, and goes with it.
//
//      a thread that wakes it: inside of its life (coro.X1)       a thread of the other library
//          resume_there(), queues there ------------------------> a step --> ended: what it waited for is handed on
//          leave()                                                           begin_end() waits for leave()
//
// Test: tests/coro/asio_test.
#pragma once

#include <coroutine>

#include "holdfast/coro/detail/root_list.hpp"
#include "holdfast/coro/detail/timer_queue.hpp"
#include "holdfast/coro/executor.hpp"

namespace holdfast::coro::detail {

// Those of one context of the other library.
class foreign_waits {
public:
    bool add(root &one) noexcept { return waits_.add(one); }
    void remove(root &one) noexcept { waits_.remove(one); }
    timer_queue &timers() noexcept { return timers_; }

    // The context ends: no thread runs their coroutines any more, which are destroyed. Threads of others may still
    // wake them.
    void end() noexcept {
        timers_.close();
        waits_.destroy_all();
        timers_.expire_all();
    }

private:
    root_list waits_;
    timer_queue timers_;
};

// The executor of one. It is on the heap, and deletes itself where its context ends.
class foreign_wait : public executor_base, private root {
public:
    explicit foreign_wait(foreign_waits &of) noexcept : of_(of) { abandon = end_with_context; }
    virtual ~foreign_wait() = default;

    void schedule(std::coroutine_handle<> ready) noexcept final { resume_there(ready); }
    void schedule_remote(std::coroutine_handle<> ready) noexcept final { resume_there(ready); }
    timer_queue &timers() noexcept final { return of_.timers(); }
    bool adopt(root &coroutine) noexcept final {
        coroutine_ = &coroutine;
        return of_.add(*this);
    }
    void disown(root &) noexcept final { of_.remove(*this); }

protected:
    // Queues step(ready) there. This may be gone when it returns.
    virtual void resume_there(std::coroutine_handle<> ready) noexcept = 0;

    // True when that was the last one: then, and only then, nobody else has this any more.
    [[nodiscard]] bool step(std::coroutine_handle<> ready) noexcept {
        bool ended = false;
        ended_here_ = &ended;
        run_here(*this, 0, ready);
        return ended;
    }
    // False where what it awaited has gone to another executor, and not come back.
    [[nodiscard]] bool runs_here() const noexcept {
        const run_context *context = current_context();
        return context && context->home == this;
    }
    // For rooted::start_with(). Requires that a step runs it.
    static void note_end(void *self) noexcept { *static_cast<foreign_wait *>(self)->ended_here_ = true; }

private:
    static void end_with_context(root &one) noexcept {
        auto &self = static_cast<foreign_wait &>(one);
        bool ended = false;
        self.ended_here_ = &ended;
        self.begin_end();
        self.coroutine_->abandon(*self.coroutine_);
        self.end();
        delete &self;
    }

    foreign_waits &of_;
    root *coroutine_ = nullptr;
    bool *ended_here_ = nullptr; // of the thread that runs the coroutine
};

} // namespace holdfast::coro::detail
