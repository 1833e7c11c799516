// SPDX-License-Identifier: MIT OR Apache-2.0
// Deadlines of waits, where the usual does not happen: no thread can be made for them, their executor ends.
// Shown able to fail: without the look at what has gone, the first test; with the thread made after the timer was put
// into the heap, the second; without close() in pool::shutdown() the last.
#include "holdfast/coro/detail/timer_queue.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <system_error>
#include <thread>

#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/shared_mutex.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

struct noted_timer : timer {
    std::atomic<bool> fired = false;

    explicit noted_timer(deadline_clock::time_point when) {
        at = when;
        fire = [](timer &one) noexcept { static_cast<noted_timer &>(one).note(); };
    }
    void note() noexcept {
        fired = true;
        fired.notify_all();
    }
};

// No thread can be made while it lives: there is no room for so large a stack.
class no_threads {
public:
    no_threads() {
        pthread_attr_t huge;
        pthread_getattr_default_np(&before_);
        pthread_getattr_default_np(&huge);
        pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
        pthread_setattr_default_np(&huge);
        pthread_attr_destroy(&huge);
    }
    ~no_threads() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }
    no_threads(const no_threads &) = delete;
    no_threads &operator=(const no_threads &) = delete;

private:
    pthread_attr_t before_{};
};

bool takes_signal(int number) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return sigismember(&blocked, number) == 0;
}

TEST(timer_queue, KnowsDeadlinesThatTheClockCannotTell) {
    deadline_clock::time_point now = deadline_clock::now();
    deadline_clock::time_point soon = now + 1h;
    EXPECT_LT(deadline_after(std::chrono::seconds::min()), soon);
    EXPECT_LT(deadline_after(-std::chrono::hours::max()), soon);
    EXPECT_GE(deadline_after(0s), now);
    EXPECT_EQ(deadline_after(std::chrono::hours::max()), deadline_clock::time_point::max());
}

TEST(CoroTimerQueue, KeepsNothingWhenItsThreadCannotBeMade) {
    timer_queue timers;
    noted_timer lost(deadline_clock::now()), later(deadline_clock::now() + 1ms);
    {
        no_threads now;
        EXPECT_THROW(timers.add(lost), std::system_error);
    }
    EXPECT_TRUE(takes_signal(SIGUSR1));
    timers.add(later);
    later.fired.wait(false);
    EXPECT_FALSE(lost.fired); // it was the earlier one
}

TEST(CoroTimerQueue, AWaitWithoutAThreadForItsLimitThrows) {
    pool workers(1u);
    shared_mutex guard;
    ASSERT_TRUE(guard.try_lock());
    auto waits = [&](auto limit) -> task<bool> { co_return co_await guard.try_lock_shared_for(limit); };
    {
        no_threads now;
        EXPECT_THROW(sync_wait(workers, waits(1h)), std::system_error);
    }
    EXPECT_FALSE(sync_wait(workers, waits(1ms)));
    guard.unlock_unsuspended();
    EXPECT_TRUE(guard.try_lock());
}

TEST(CoroTimerQueue, NothingFiresOnceItIsClosed) {
    timer_queue timers;
    noted_timer first(deadline_clock::now() + 1h), second(deadline_clock::now());
    timers.add(first);
    timers.close();
    timers.add(second);
    std::this_thread::sleep_for(50ms); // time in which it would
    timers.cancel(first);
    timers.cancel(second);
    EXPECT_EQ(first.place, timer::nowhere);
    EXPECT_EQ(second.place, timer::nowhere);
    EXPECT_FALSE(second.fired);
}

// Until the limit of another's wait has passed for certain; whether a reader could come in meanwhile.
class looks_in_when_destroyed {
public:
    looks_in_when_destroyed(shared_mutex &guard, const deadline_clock::time_point &limit, bool &in_time, bool &came_in)
        : guard_(guard), limit_(limit), in_time_(in_time), came_in_(came_in) {}
    ~looks_in_when_destroyed() {
        in_time_ = deadline_clock::now() < limit_;
        while (deadline_clock::now() < limit_ + 50ms) {
            if (guard_.try_lock_shared()) {
                came_in_ = true;
                guard_.unlock_shared_unsuspended();
                return;
            }
        }
    }
    looks_in_when_destroyed(const looks_in_when_destroyed &) = delete;
    looks_in_when_destroyed &operator=(const looks_in_when_destroyed &) = delete;

private:
    shared_mutex &guard_;
    const deadline_clock::time_point &limit_;
    bool &in_time_, &came_in_;
};

// A writer's limit passes while a pool destroys its coroutines, of which one has not gone yet that waits behind the
// writer: it must not be let in, since its frame may go at any moment. False when the machine was too slow for this
// limit, and nothing was tried.
bool ends_before_a_limit(std::chrono::milliseconds limit, bool &came_in) {
    shared_mutex guard;
    EXPECT_TRUE(guard.try_lock_shared());
    deadline_clock::time_point until;
    bool in_time = false;
    std::atomic<int> waiting = 0;
    pool workers(1u);
    auto read = [&]() -> task<> {
        waiting++;
        co_await guard.lock_shared();
        co_await guard.unlock_shared();
    };
    auto write = [&]() -> task<> {
        until = deadline_clock::now() + limit;
        spawn(workers, read());
        waiting++;
        if (co_await guard.try_lock_for(limit))
            co_await guard.unlock();
    };
    auto look = [&]() -> task<> { // spawned last, destroyed first
        looks_in_when_destroyed at_the_end(guard, until, in_time, came_in);
        waiting++;
        co_await guard.lock();
        co_await guard.unlock();
    };
    spawn(workers, write());
    while (waiting < 2)
        std::this_thread::yield();
    spawn(workers, look());
    while (waiting < 3)
        std::this_thread::yield();
    workers.shutdown();
    guard.unlock_shared_unsuspended();
    EXPECT_TRUE(guard.try_lock());
    return in_time;
}

TEST(CoroTimerQueue, NoLimitPassesWhileAPoolDestroysItsCoroutines) {
    bool came_in = false;
    std::chrono::milliseconds limit = 50ms;
    while (!ends_before_a_limit(limit, came_in)) {
        came_in = false;
        limit *= 2;
        ASSERT_LT(limit, 60s);
    }
    EXPECT_FALSE(came_in);
}

} // namespace
