// SPDX-License-Identifier: MIT OR Apache-2.0
#include "coro/leveldb/inner_locks.hpp"

#include "holdfast/coro/fiber.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"

namespace holdfast::bench {
namespace {

using coro::policy;
using coro::task;

policy chosen = policy::ces;

template <class Variant>
void make_chosen(Variant &one) {
    if (chosen == policy::dispatch)
        one.template emplace<1>();
    else if (chosen == policy::inline_)
        one.template emplace<2>();
}

// Where those wait that are no coroutines. Never ended: LevelDB's own thread waits until the program's end.
coro::pool &pool_for_threads() {
    static auto *pool = new coro::pool(coro::pool_options{1});
    return *pool;
}

template <policy Policy>
task<> lock_for_thread(coro::basic_mutex<Policy> &mutex) {
    co_await mutex.lock();
}

template <policy Policy>
task<> wait_for_thread(coro::basic_condition_variable<Policy> &condition, coro::basic_mutex<Policy> &mutex) {
    coro::basic_scoped_lock<Policy> held(mutex, std::adopt_lock);
    static_cast<void>(co_await condition.wait(held));
    static_cast<void>(held.release());
}

} // namespace

void choose_inner_locks(policy policy) {
    chosen = policy;
}

inner_mutex::inner_mutex() {
    make_chosen(of_);
}

void inner_mutex::lock() {
    std::visit(
        [](auto &mutex) {
            if (coro::this_fiber::exists())
                coro::this_fiber::await(mutex.lock());
            else if (!mutex.try_lock())
                coro::sync_wait(pool_for_threads(), lock_for_thread(mutex));
        },
        of_);
}

void inner_mutex::unlock() {
    std::visit(
        [](auto &mutex) {
            if (coro::this_fiber::exists())
                coro::this_fiber::await(mutex.unlock());
            else
                mutex.unlock_unsuspended();
        },
        of_);
}

inner_condition::inner_condition() {
    make_chosen(of_);
}

void inner_condition::wait(inner_mutex &mutex) {
    std::visit(
        [&]<policy Policy>(coro::basic_condition_variable<Policy> &condition) {
            auto &of = std::get<coro::basic_mutex<Policy>>(mutex.of_);
            if (!coro::this_fiber::exists())
                return coro::sync_wait(pool_for_threads(), wait_for_thread(condition, of));
            coro::basic_scoped_lock<Policy> held(of, std::adopt_lock);
            static_cast<void>(coro::this_fiber::await(condition.wait(held)));
            static_cast<void>(held.release());
        },
        of_);
}

void inner_condition::notify_one() {
    std::visit([](auto &condition) { condition.notify_one(); }, of_);
}

void inner_condition::notify_all() {
    std::visit([](auto &condition) { condition.notify_all(); }, of_);
}

} // namespace holdfast::bench
