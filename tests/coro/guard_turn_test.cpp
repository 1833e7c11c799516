// SPDX-License-Identifier: MIT OR Apache-2.0
// Loops that are never suspended for their lock, on the only thread there is: any other task that is ready runs, even
// though guards unlock by their destructors, and on an executor of others that does not say what waits there.
// Shown able to fail: without note_turn() in a guard's destructor, or waiting() of posting_executor, they do not end.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "holdfast/coro/coro.hpp"
#include "holdfast/coro/executors/posting_executor.hpp"

namespace {

using namespace holdfast::coro;

template <class Use>
void lets_others_run(Use use) {
    std::atomic<bool> over = false;
    pool workers(1);
    auto loops = [&]() -> task<> {
        while (!over)
            co_await use();
    };
    auto ends = [&]() -> task<> {
        over = true;
        co_return;
    };
    auto both = [&]() -> task<> {
        spawn(workers, ends()); // behind this one
        co_await loops();
    };
    sync_wait(workers, both());
    EXPECT_TRUE(over);
}

TEST(GuardTurn, OfAMutex) {
    mutex one;
    lets_others_run([&]() -> task<> {
        for (int i = 0; i < 100; i++)
            auto held = co_await one.scoped_lock();
    });
    EXPECT_TRUE(one.try_lock());
    one.unlock_unsuspended();
}

TEST(GuardTurn, OfAReader) {
    shared_mutex one;
    lets_others_run([&]() -> task<> {
        for (int i = 0; i < 100; i++)
            auto held = co_await one.scoped_lock_shared();
    });
    EXPECT_TRUE(one.try_lock());
    one.unlock_unsuspended();
}

TEST(GuardTurn, OfAPermitWithinALimit) {
    counting_semaphore one(1);
    lets_others_run([&]() -> task<> {
        for (int i = 0; i < 100; i++) {
            auto permit = co_await one.try_scoped_acquire_for(std::chrono::hours(1));
            EXPECT_TRUE(permit.owns_lock());
        }
    });
    EXPECT_TRUE(one.try_acquire());
}

// One thread that runs what is posted, in order.
class queue_of_functions {
public:
    ~queue_of_functions() {
        post([this] { over_ = true; });
        thread_.join();
    }
    void post(std::function<void()> one) {
        std::lock_guard held(lock_);
        functions_.push_back(std::move(one));
        changed_.notify_one();
    }

private:
    void run() {
        while (!over_) {
            std::unique_lock held(lock_);
            changed_.wait(held, [&] { return !functions_.empty(); });
            std::function<void()> first = std::move(functions_.front());
            functions_.pop_front();
            held.unlock();
            first();
        }
    }
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> functions_;
    bool over_ = false;
    std::thread thread_{[this] { run(); }};
};

TEST(GuardTurn, LetsFunctionsOfOthersRun) {
    queue_of_functions theirs;
    posting_executor on([&](posting_executor::ticket one) { theirs.post([one] { one(); }); });
    mutex one;
    std::atomic<bool> over = false;
    auto loops = [&]() -> task<> {
        theirs.post([&] { over = true; });
        while (!over) {
            co_await one.lock();
            co_await one.unlock();
        }
    };
    sync_wait(on, loops());
    EXPECT_TRUE(over);
}

} // namespace
