// SPDX-License-Identifier: MIT OR Apache-2.0
// Hand-overs on a pool of one worker (policy.hpp): nobody else could take the unlocker, which goes on as soon as the
// next owner is suspended, and who else is ready still gets his turn.
// Shown able to fail: with run_context::alone never set the first test fails; with chain_ends() blind to others_first,
// or with no bound at all, the second does.
#include <gtest/gtest.h>
#include <string>

#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;

task<> writes(std::string &order, char letter) {
    order += letter;
    co_return;
}

task<> waits_and_writes(mutex &taken, char letter, std::string &order, std::size_t &waiters) {
    waiters++;
    co_await taken.lock();
    order += letter;
    co_await taken.unlock();
}

task<std::string> order_at_an_unlock(pool &workers) {
    mutex guard;
    std::string order;
    std::size_t waiting = 0;
    co_await guard.lock();
    spawn(workers, waits_and_writes(guard, 'n', order, waiting));
    while (waiting < 1)
        co_await yield();
    spawn(workers, writes(order, 'o'));
    co_await guard.unlock();
    order += 'u';
    while (order.size() < 3)
        co_await yield();
    co_return order;
}

TEST(CoroAloneWorker, RunsTheNextOwnerThenTheUnlockerThenOthers) {
    pool workers(1);
    EXPECT_EQ(sync_wait(workers, order_at_an_unlock(workers)), "nuo");
}

task<std::string> order_at_two_unlocks(pool &workers, std::size_t waiters) {
    mutex first, second;
    std::string order;
    std::size_t waiting = 0;
    co_await first.lock();
    co_await second.lock();
    for (std::size_t i = 0; i < waiters; i++) {
        spawn(workers, waits_and_writes(first, 'a', order, waiting));
        spawn(workers, waits_and_writes(second, 'b', order, waiting));
    }
    while (waiting < 2 * waiters)
        co_await yield();
    spawn(workers, writes(order, 'o'));
    co_await first.unlock();
    co_await second.unlock();
    while (order.size() < 2 * waiters + 1)
        co_await yield();
    co_return order.substr(0, order.find('o'));
}

// A chain of 4 ends at the fourth hand-over. Then those that were deferred go on, and hand nothing over: the unlocker
// would begin a second chain.
TEST(CoroAloneWorker, ComesForOthersAfterAChain) {
    pool workers(pool_options{.workers = 1, .chain_max = 4});
    EXPECT_EQ(sync_wait(workers, order_at_two_unlocks(workers, 10)), "aaa");
}

} // namespace
