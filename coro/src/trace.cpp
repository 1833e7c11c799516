// SPDX-License-Identifier: MIT OR Apache-2.0
// Where events are kept. Each thread has a list of its own, of the trace that was the newest when it last noted
// something; the registry knows all lists of the newest trace.
#include "holdfast/coro/trace.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

#include "holdfast/coro/detail/observation.hpp"
#include "holdfast/coro/executor.hpp"
#include "trace_events.hpp"

namespace holdfast::coro {
namespace trace {
namespace {

struct registry {
    std::mutex lock;
    std::vector<std::shared_ptr<thread_events>> threads; // guarded
    std::atomic<std::uint64_t> number = 0;               // of the newest trace; changed under the lock
};

// Lives until the process ends: threads may still note something then.
registry &registered() {
    static registry *one = new registry;
    return *one;
}

std::string name_of_this_thread() {
    const run_context *context = current_context();
    std::string name = "thread " + std::to_string(gettid());
    return context && context->home ? "worker " + std::to_string(context->worker) + ", " + name : name;
}

// This thread's list, of the newest trace. std::bad_alloc ends the program, as it does in a queue.
thread_events &mine() noexcept {
    thread_local std::shared_ptr<thread_events> kept;
    thread_local std::uint64_t kept_for = 0;
    registry &at = registered();
    if (kept_for != at.number.load(std::memory_order_relaxed)) {
        auto made = std::make_shared<thread_events>(name_of_this_thread());
        std::lock_guard held(at.lock);
        at.threads.push_back(made);
        kept = std::move(made);
        kept_for = at.number.load(std::memory_order_relaxed);
    }
    return *kept;
}

} // namespace

void start() {
    registry &at = registered();
    std::lock_guard held(at.lock);
    at.threads.clear();
    at.number.fetch_add(1, std::memory_order_relaxed);
    detail::set_noting(detail::tracing, true);
}

void stop() noexcept {
    detail::set_noting(detail::tracing, false);
}

void write(std::ostream &to) {
    all_events threads;
    {
        registry &at = registered();
        std::lock_guard held(at.lock);
        threads.assign(at.threads.begin(), at.threads.end());
    }
    write_json(to, threads);
}

void write(const std::string &path) {
    std::ofstream to(path, std::ios::trunc);
    if (to)
        write(to);
    to.flush();
    if (!to)
        throw std::runtime_error("the trace of coroutines can't be written to '" + path + "': " + std::strerror(errno) +
                                 "; name another file");
}

} // namespace trace

namespace detail {

void note_section_begin(const void *mutex) noexcept {
    trace::mine().add({observation_clock_ns(), 0, mutex, trace::event_kind::section_begin});
}

void note_section_end(const void *mutex) noexcept {
    trace::mine().add({observation_clock_ns(), 0, mutex, trace::event_kind::section_end});
}

void resume_noted(std::coroutine_handle<> one) noexcept {
    const void *coroutine = one.address(); // it may be gone afterwards
    std::uint64_t began_ns = observation_clock_ns();
    one.resume();
    trace::mine().add({began_ns, observation_clock_ns(), coroutine, trace::event_kind::ran});
}

} // namespace detail
} // namespace holdfast::coro
