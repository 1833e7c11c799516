// SPDX-License-Identifier: MIT OR Apache-2.0
// Very many tasks that wait for one mutex at once: what each of them costs, and that letting them all go needs no more
// stack than letting one go. Prints the figures; docs/coroutines-reference.md has them.
//
// Shown able to fail: see docs/coroutines-checks.md.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <gtest/gtest.h>
#include <malloc.h>
#include <thread>

#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;

constexpr int tasks = HF_WAITERS; // from CMake: fewer where each instruction is watched

constexpr std::uintptr_t stack_enough = 16384; // a few frames, also in builds with checks

struct scene {
    mutex guard;
    long inside = 0;                                        // under the mutex, as all but `come`
    std::uintptr_t stack_low = UINTPTR_MAX, stack_high = 0; // of sections, all on one worker
    std::atomic<int> come = 0;
};

[[gnu::noinline]] void look_at_stack(scene &at) {
    auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    at.stack_low = std::min(at.stack_low, here);
    at.stack_high = std::max(at.stack_high, here);
}

task<> lock_and_unlock(scene &at) {
    at.come.fetch_add(1, std::memory_order_relaxed);
    co_await at.guard.lock();
    at.inside++;
    look_at_stack(at);
    co_await at.guard.unlock();
}

task<> scoped(scene &at) {
    at.come.fetch_add(1, std::memory_order_relaxed);
    auto held = co_await at.guard.scoped_lock();
    at.inside++;
    look_at_stack(at);
    co_await held.unlock();
}

task<> with(scene &at) {
    at.come.fetch_add(1, std::memory_order_relaxed);
    co_await at.guard.with([&at] {
        at.inside++;
        look_at_stack(at);
    });
}

// 0 under sanitizers, which have allocators of their own.
std::size_t allocated_bytes() {
    return mallinfo2().uordblks;
}

// Ends when all tasks have been inside; CTest's limit is for a wake-up that was lost.
template <class Work>
void wait_and_go(const char *way, Work work) {
    scene at;
    pool worker(1); // one stack
    ASSERT_TRUE(at.guard.try_lock());
    std::size_t before = allocated_bytes();
    for (int i = 0; i < tasks; i++)
        spawn(worker, work(at));
    while (at.come.load(std::memory_order_relaxed) < tasks)
        std::this_thread::yield();
    std::size_t after = allocated_bytes();
    at.guard.unlock_unsuspended();
    auto all_are_through = [&at]() -> task<> {
        for (bool over = false; !over;) {
            co_await yield();
            over = co_await at.guard.with([&at] { return at.inside == tasks; });
        }
    };
    sync_wait(worker, all_are_through());
    worker.shutdown();
    EXPECT_EQ(at.inside, tasks);
    EXPECT_LT(at.stack_high - at.stack_low, stack_enough);
    std::printf("%s: %d tasks waited, %zu bytes each, %zu of stack\n", way, tasks,
                (after - before) / static_cast<std::size_t>(tasks), at.stack_high - at.stack_low);
}

TEST(CoroManyWaiters, LockAndUnlock) {
    wait_and_go("lock", lock_and_unlock);
}
TEST(CoroManyWaiters, ScopedLock) {
    wait_and_go("scoped_lock", scoped);
}
TEST(CoroManyWaiters, With) {
    wait_and_go("with", with);
}

} // namespace
