// SPDX-License-Identifier: MIT OR Apache-2.0
#include <utility>

#include "holdfast/coro/detail/observation.hpp"
#include "holdfast/coro/executor.hpp"

namespace holdfast::coro {
namespace {

thread_local constinit run_context *current = nullptr;

} // namespace

// Not inlined, by link-time optimization either, as all here that read `current`: the caller may be a fiber, which goes
// on on another thread, while its compiler keeps the address of a thread-local variable. The statement without effect
// keeps it from knowing that two calls give the same.
[[gnu::noinline]] run_context *current_context() noexcept {
    __asm__ volatile("");
    return current;
}

[[gnu::noinline]] void run(run_context &context, std::coroutine_handle<> ready, bool (*stop)(void *),
                           void *argument) noexcept {
    run_context *outer = std::exchange(current, &context);
    for (;;) {
        if (detail::noting(detail::tracing))
            detail::resume_noted(ready);
        else
            ready.resume();
        if (context.slot) {
            ready = std::exchange(context.slot, nullptr);
        } else if (context.deferred_top) {
            ready = context.deferred_top->handle;
            context.deferred_top = context.deferred_top->below;
        } else if (!context.after_all.empty()) {
            ready = context.after_all.take();
        } else {
            break;
        }
        if (stop && stop(argument))
            break; // what was in the slot is destroyed with its root
    }
    current = outer;
}

void run_here(executor_base &home, unsigned worker, std::coroutine_handle<> ready) noexcept {
    run_context context;
    context.home = &home;
    context.worker = worker;
    run(context, ready, nullptr, nullptr);
}

[[gnu::noinline]] void run_here_by_hand(std::coroutine_handle<> ready) noexcept {
    __asm__ volatile("");
    if (current && !current->home) {
        current->after_all.put(ready);
        return;
    }
    run_context by_hand;
    run(by_hand, ready, nullptr, nullptr);
}

namespace detail {
namespace {

// Apart from turn_is_over(), which would save registers for it each time.
[[gnu::noinline]] bool turn_ends(run_context &context) noexcept {
    return context.current_turn.ends([&] { return context.home->waiting(); });
}

} // namespace

[[gnu::noinline]] bool turn_is_over() noexcept {
    __asm__ volatile("");
    run_context *context = current;
    if (!context || !context->home || context->current_turn.goes_on())
        return false;
    return turn_ends(*context);
}

void throw_executor_stopped() {
    throw executor_stopped();
}

void throw_no_executor() {
    throw no_executor();
}

[[gnu::noinline]] void note_turn() noexcept {
    __asm__ volatile("");
    run_context *context = current;
    if (context && context->home && !context->current_turn.goes_on() && turn_ends(*context))
        context->turn_was_over = true;
}

[[gnu::noinline]] bool turn_was_over() noexcept {
    __asm__ volatile("");
    return current && current->turn_was_over && std::exchange(current->turn_was_over, false);
}

void clear_slot(run_context &context) noexcept {
    std::coroutine_handle<> occupant = std::exchange(context.slot, nullptr);
    if (context.home)
        context.home->schedule_urgent(occupant);
    else
        context.after_all.put(occupant);
}

[[gnu::noinline]] bool end_turn(std::coroutine_handle<> self) noexcept {
    __asm__ volatile("");
    current->home->schedule_rotated(self);
    return true;
}

} // namespace detail

[[gnu::noinline]] void resume_next(std::coroutine_handle<> next) noexcept {
    __asm__ volatile("");
    if (current) {
        pass_on(*current, next);
        return;
    }
    run_here_by_hand(next);
}

} // namespace holdfast::coro
