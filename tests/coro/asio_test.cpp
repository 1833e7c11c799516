// SPDX-License-Identifier: MIT OR Apache-2.0
// Asio both ways: its operations in tasks, our primitives in its coroutines. Compiled for Asio and, with
// HF_WITH_BOOST_ASIO, for Boost.Asio, whose 1.74 has no cancellation slots.
// Shown able to fail, each by the tests named: asio_executor without adopt() (RunGoesOnWhileATaskSleeps); a wait
// without its work guard (RunGoesOnWhileACoroutineWaits); a handler that says nothing where it is destroyed
// (WhatAsioDropsFails does not end); a handler that is called within the function that began its wait
// (HandlersRunOnTheirExecutor); a slot that is not assigned (ASlotEndsAWait does not end); a stop that is not emitted
// (AStopRequestCancelsAnOperation does not end), or also after the operation's end (AStopRequestAfterTheEndDoesNothing:
// touches what is freed); a wait whose coroutine ends where it happens to be (AwaitWhatEndsElsewhere: writes to a stack
// that is gone, and does not end); a service whose shutdown does nothing
// (AContextMayEndWhileCoroutinesWait: leaks, and touches what is freed). That an end waits for threads that have just
// woken a coroutine only verify/coro/foreign.pml shows.
#include <utility> // Boost 1.74's awaitable.hpp needs it
#ifdef HF_WITH_BOOST_ASIO
#include <boost/asio.hpp>

#include "holdfast/coro/boost_asio.hpp"
namespace net = boost::asio;
using boost::system::error_code;
using boost::system::system_error;
#else
#include <asio.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>

#include "holdfast/coro/asio.hpp"
#define HF_HAS_SLOTS
namespace net = asio;
using std::error_code;
using std::system_error;
#endif
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

// An io_context that threads run, with work until this ends.
class running_context {
public:
    explicit running_context(unsigned threads) : busy_(io.get_executor()) {
        for (unsigned i = 0; i < threads; i++)
            threads_.emplace_back([this] { io.run(); });
    }
    ~running_context() {
        busy_.reset();
        for (std::thread &one : threads_)
            one.join();
    }
    net::io_context io;

private:
    net::executor_work_guard<net::io_context::executor_type> busy_;
    std::vector<std::thread> threads_;
};

bool is_aborted(const system_error &one) {
    return one.code() == net::error::operation_aborted;
}

// An operation of a program's own: its handler gets what it is given.
template <class Signature, class Token, class... Given>
auto async_give(net::io_context &io, Token &&token, Given... given) {
    return net::async_initiate<Token, Signature>(
        [&io](auto handler, auto... values) {
            auto on = net::get_associated_executor(handler, io.get_executor());
            net::post(on, [handler = std::move(handler), ... values = std::move(values)]() mutable {
                std::move(handler)(std::move(values)...);
            });
        },
        token, std::move(given)...);
}

// In tasks ------------------------------------------------------------------------------------------------------------

TEST(AsioInTasks, AnOperationIsAwaitedAndTheTaskComesHome) {
    running_context there(1);
    pool workers(1);
    auto waits = [&]() -> task<bool> {
        std::thread::id home = std::this_thread::get_id();
        net::steady_timer timer(there.io, 2ms);
        co_await timer.async_wait(use_task);
        co_return std::this_thread::get_id() == home;
    };
    EXPECT_TRUE(sync_wait(workers, waits()));
}

TEST(AsioInTasks, GivesWhatTheHandlerWouldGet) {
    running_context there(2);
    pool workers(1);
    auto waits = [&]() -> task<> {
        int one = co_await async_give<void(error_code, int)>(there.io, use_task, error_code(), 1);
        EXPECT_EQ(one, 1);
        std::tuple<int, std::string> two =
            co_await async_give<void(std::exception_ptr, int, std::string)>(there.io, use_task, nullptr, 2, "two");
        EXPECT_EQ(two, std::tuple(2, "two"));
        std::unique_ptr<int> moved = co_await async_give<void(std::unique_ptr<int>)>(there.io, use_task, nullptr);
        EXPECT_EQ(moved, nullptr);
        co_await async_give<void()>(there.io, use_task);
        error_code failed;
        int none = co_await async_give<void(error_code, int)>(there.io, net::redirect_error(use_task, failed),
                                                              error_code(net::error::not_found), 0);
        EXPECT_EQ(none, 0);
        EXPECT_EQ(failed, net::error::not_found);
#ifdef HF_HAS_SLOTS
        auto [error, value] = co_await async_give<void(error_code, int)>(
            there.io, asio::experimental::as_tuple(use_task), error_code(net::error::not_found), 3);
        EXPECT_EQ(error, net::error::not_found);
        EXPECT_EQ(value, 3);
#endif
    };
    sync_wait(workers, waits());
}

TEST(AsioInTasks, AnErrorIsThrown) {
    running_context there(1);
    pool workers(1);
    EXPECT_THROW(
        sync_wait(workers, async_give<void(error_code, int)>(there.io, use_task, error_code(net::error::not_found), 0)),
        system_error);
    EXPECT_THROW(sync_wait(workers, async_give<void(std::exception_ptr)>(
                                        there.io, use_task, std::make_exception_ptr(std::runtime_error("no")))),
                 std::runtime_error);
}

TEST(AsioInTasks, BeginsWhenItIsAwaited) {
    running_context there(1);
    pool workers(1);
    std::atomic<bool> begun = false;
    auto begin = [&](auto handler) {
        begun = true;
        net::post(there.io, std::move(handler));
    };
    task<> one = net::async_initiate<const use_task_t, void()>(begin, use_task);
    EXPECT_FALSE(begun);
    sync_wait(workers, std::move(one));
    EXPECT_TRUE(begun);
}

#ifdef HF_HAS_SLOTS // nor tokens that pass others on
TEST(AsioInTasks, ATokensExecutorIsTheHandlers) {
    running_context there(2);
    pool workers(1);
    auto serial = net::make_strand(there.io);
    bool inside = false;
    auto begin = [&](auto handler) {
        auto on = net::get_associated_executor(handler);
        net::post(on, [&, handler = std::move(handler)]() mutable {
            inside = serial.running_in_this_thread();
            std::move(handler)();
        });
    };
    auto bound = net::bind_executor(serial, use_task);
    sync_wait(workers, net::async_initiate<decltype(bound), void()>(begin, bound));
    EXPECT_TRUE(inside);
}
#endif

TEST(AsioInTasks, RunGoesOnWhileATaskSleeps) {
    net::io_context io;
    asio_executor on(io.get_executor());
    bool over = false;
    auto sleeps = [&]() -> task<> {
        for (int i = 0; i < 2; i++) {
            bool slept = co_await sleep_for(10ms);
            over = slept && i == 1;
        }
    };
    spawn(on, sleeps);
    io.run(); // the only thread that runs it
    EXPECT_TRUE(over);
}

TEST(AsioInTasks, WhatAsioDropsFails) {
    pool workers(1);
    std::optional<net::io_context> io(std::in_place);
    std::atomic<bool> begun = false;
    std::atomic<bool> told = false;
    auto waits = [&]() -> task<> {
        try {
            co_await net::async_initiate<const use_task_t, void()>(
                [&](auto handler) {
                    net::post(*io, std::move(handler)); // nobody runs it
                    begun = true;
                },
                use_task);
        } catch (const system_error &failed) {
            told = is_aborted(failed);
        }
    };
    async_scope scope(workers);
    scope.spawn(waits);
    while (!begun)
        std::this_thread::yield();
    io.reset();
    sync_wait(workers, scope.join());
    EXPECT_TRUE(told);
}

TEST(AsioInTasks, AnOperationMayEndWhenItsTaskIsGone) {
    net::io_context io;
    net::steady_timer timer(io, 1h);
    std::atomic<bool> begun = false;
    {
        pool workers(1);
        auto waits = [&]() -> task<> {
            auto operation = timer.async_wait(use_task);
            begun = true;
            co_await std::move(operation);
        };
        spawn(workers, waits);
        while (!begun)
            std::this_thread::yield();
        std::this_thread::sleep_for(2ms);
    }
    timer.cancel();
    io.run();
}

#ifdef HF_HAS_SLOTS
TEST(AsioInTasks, AStopRequestCancelsAnOperation) {
    running_context there(2);
    pool workers(1);
    for (int i = 0; i < 100; i++) {
        std::stop_source stop;
        net::steady_timer timer(there.io, 1h);
        auto waits = [&]() -> task<bool> {
            try {
                co_await timer.async_wait(use_task(stop.get_token()));
            } catch (const system_error &failed) {
                co_return is_aborted(failed);
            }
            co_return false;
        };
        std::thread other([&] {
            if (i % 2)
                std::this_thread::sleep_for(1ms);
            stop.request_stop();
        });
        EXPECT_TRUE(sync_wait(workers, waits()));
        other.join();
    }
}

// Its steps and the request run within a strand, though the context has two threads.
TEST(AsioInTasks, AStopRequestCancelsAnOperationOfSeveralSteps) {
    running_context there(2);
    pool workers(1);
    for (int i = 0; i < 100; i++) {
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe(ends.data()), 0);
        net::posix::stream_descriptor in(there.io, ends[0]), out(there.io, ends[1]);
        std::array<char, 64> room{};
        auto reads = [&](std::stop_token token) -> task<std::size_t> {
            std::size_t count = 0;
            bool aborted = false;
            try {
                count = co_await net::async_read(in, net::buffer(room), use_task(std::move(token)));
            } catch (const system_error &failed) {
                aborted = is_aborted(failed);
            }
            EXPECT_TRUE(aborted);
            co_return count;
        };
        auto writes = [&]() -> task<> {
            for (int k = 0; k < i % 8; k++)
                co_await net::async_write(out, net::buffer("x", 1), use_task);
        };
        auto both = [&]() -> task<> {
            std::stop_source stop;
            auto stops = [&]() -> task<> {
                co_await writes();
                stop.request_stop();
            };
            auto [count, nothing] = co_await when_all(reads(stop.get_token()), stops());
            EXPECT_LE(count, static_cast<std::size_t>(i % 8));
            static_cast<void>(nothing);
        };
        sync_wait(workers, both());
    }
}

TEST(AsioInTasks, AStopRequestAfterTheEndDoesNothing) {
    running_context there(2);
    pool workers(1);
    for (int i = 0; i < 500; i++) {
        std::stop_source stop;
        auto waits = [&]() -> task<> {
            net::steady_timer timer(there.io, 1us);
            try {
                co_await timer.async_wait(use_task(stop.get_token()));
            } catch (const system_error &failed) {
                EXPECT_TRUE(is_aborted(failed));
            }
        };
        std::thread other([&] { stop.request_stop(); });
        sync_wait(workers, waits());
        other.join();
    }
}
#endif

// In coroutines of Asio's ---------------------------------------------------------------------------------------------

TEST(AsioCoroutines, LockOutTasksAndEachOther) {
    constexpr int each = 2000;
    mutex guard;
    long counter = 0;
    std::atomic<int> left = 4;
    event done;
    pool workers(2);
    {
        running_context there(2);
        auto counts = [&]() -> net::awaitable<void> {
            for (int i = 0; i < each; i++) {
                auto held = co_await async_lock(guard, net::use_awaitable);
                EXPECT_TRUE(held.owns_lock());
                counter++;
            }
            if (--left == 0)
                done.set();
        };
        auto task_counts = [&]() -> task<> {
            for (int i = 0; i < each; i++)
                co_await guard.with([&] { counter++; });
            if (--left == 0)
                done.set();
        };
        for (int i = 0; i < 2; i++) {
            net::co_spawn(there.io, counts, net::detached);
            spawn(workers, task_counts);
        }
        sync_wait(workers, done.wait());
    }
    EXPECT_EQ(counter, 4L * each);
}

TEST(AsioCoroutines, AwaitEachKindOfWait) {
    running_context there(2);
    pool workers(1);
    counting_semaphore permits(0);
    channel<int> values(0);
    event set;
    shared_mutex table;
    mutex guard;
    auto waits = [&]() -> net::awaitable<int> {
        co_await async_await([&] { return set.wait(); }, net::use_awaitable);
        co_await async_await([&] { return permits.acquire(2); }, net::use_awaitable);
        std::optional<int> got = co_await async_await([&] { return values.receive(); }, net::use_awaitable);
        bool slept = co_await async_await([] { return sleep_for(1ms); }, net::use_awaitable);
        EXPECT_TRUE(slept);
        auto reader = co_await async_await([&] { return table.scoped_lock_shared(); }, net::use_awaitable);
        EXPECT_FALSE(table.try_lock());
        auto held = co_await async_lock(guard, net::use_awaitable);
        bool again = co_await async_await([&] { return guard.try_lock_for(1ms); }, net::use_awaitable);
        EXPECT_FALSE(again);
        bool told = false;
        try {
            co_await async_await(
                []() -> task<> {
                    throw std::runtime_error("no");
                    co_return;
                },
                net::use_awaitable);
        } catch (const std::runtime_error &) {
            told = true;
        }
        EXPECT_TRUE(told);
        co_return got.value_or(0);
    };
    auto gives = [&]() -> task<> {
        set.set();
        bool slept = co_await sleep_for(1ms);
        EXPECT_TRUE(slept);
        co_await permits.release(2);
        co_await values.send(7);
    };
    spawn(workers, gives);
    EXPECT_EQ(net::co_spawn(there.io, waits, net::use_future).get(), 7);
    EXPECT_TRUE(guard.try_lock());
    guard.unlock_unsuspended();
}

// What is awaited may go to another executor, and end there.
TEST(AsioCoroutines, AwaitWhatEndsElsewhere) {
    constexpr int times = 500;
    running_context there(2);
    pool workers(2);
    auto goes = [&](bool throws) -> task<int> {
        co_await resume_on(workers);
        if (throws)
            throw std::runtime_error(std::string(40, 'x'));
        co_return 7;
    };
    auto waits = [&]() -> net::awaitable<int> {
        int right = 0;
        for (int i = 0; i < times; i++) {
            try {
                int got = co_await async_await([&] { return goes(i % 2 == 1); }, net::use_awaitable);
                right += got == 7 && i % 2 == 0;
            } catch (const std::runtime_error &thrown) {
                right += std::string(thrown.what()) == std::string(40, 'x') && i % 2 == 1;
            }
            EXPECT_TRUE(there.io.get_executor().running_in_this_thread());
        }
        co_return right;
    };
    auto one = net::co_spawn(there.io, waits, net::use_future), other = net::co_spawn(there.io, waits, net::use_future);
    EXPECT_EQ(one.get(), times);
    EXPECT_EQ(other.get(), times);
}

TEST(AsioCoroutines, RunGoesOnWhileACoroutineWaits) {
    net::io_context io;
    mutex guard;
    ASSERT_TRUE(guard.try_lock());
    bool got = false;
    async_lock(guard, net::bind_executor(
                          io, [&](error_code failed, const scoped_lock &held) { got = !failed && held.owns_lock(); }));
    std::thread other([&] {
        std::this_thread::sleep_for(10ms);
        guard.unlock_unsuspended();
    });
    io.run();
    EXPECT_TRUE(got);
    other.join();
}

TEST(AsioCoroutines, HandlersRunOnTheirExecutor) {
    running_context there(2);
    auto serial = net::make_strand(there.io);
    mutex guard;
    for (bool taken : {false, true}) {
        if (taken) {
            ASSERT_TRUE(guard.try_lock());
        }
        std::atomic<bool> called = false;
        net::post(serial, [&] {
            async_lock(guard, net::bind_executor(serial, [&](error_code, const scoped_lock &) {
                           EXPECT_TRUE(serial.running_in_this_thread());
                           called = true;
                       }));
            EXPECT_FALSE(called) << "within the function that began it";
            if (taken)
                guard.unlock_unsuspended();
            EXPECT_FALSE(called) << "by an unlock";
        });
        while (!called)
            std::this_thread::yield();
        while (!guard.try_lock()) // until its guard is gone
            std::this_thread::yield();
        guard.unlock_unsuspended();
    }
    std::atomic<bool> called = false;
    async_lock(guard, [&](error_code, const scoped_lock &) { called = true; }); // on Asio's system_executor
    while (!called || !guard.try_lock())
        std::this_thread::yield();
    guard.unlock_unsuspended();
}

// The guard is given back with what was posted.
TEST(AsioCoroutines, AContextMayEndWhileCoroutinesWait) {
    mutex guard;
    event never;
    {
        net::io_context io;
        ASSERT_TRUE(guard.try_lock());
        for (int i = 0; i < 3; i++) {
            net::co_spawn(
                io,
                [&]() -> net::awaitable<void> {
                    auto held = co_await async_lock(guard, net::use_awaitable);
                    co_await async_await([&] { return never.wait(); }, net::use_awaitable);
                },
                net::detached);
        }
        io.poll();
        guard.unlock_unsuspended();
        io.poll_one();
    }
    EXPECT_TRUE(guard.try_lock());
    guard.unlock_unsuspended();
    never.set();
}

TEST(AsioCoroutines, AContextMayEndWhileThreadsWakeItsCoroutines) {
    auto_event one;
    std::atomic<bool> over = false;
    std::thread other([&] {
        while (!over)
            one.set();
    });
    for (int i = 0; i < 100; i++) {
        net::io_context io;
        for (int k = 0; k < 4; k++)
            net::co_spawn(
                io,
                [&]() -> net::awaitable<void> {
                    for (;;)
                        co_await async_await([&] { return one.wait(); }, net::use_awaitable);
                },
                net::detached);
        for (int k = 0; k < 20; k++)
            io.poll_one();
    }
    over = true;
    other.join();
}

#ifdef HF_HAS_SLOTS
TEST(AsioCoroutines, ASlotEndsAWait) {
    net::io_context io;
    mutex guard;
    ASSERT_TRUE(guard.try_lock());
    asio::cancellation_signal signal;
    error_code told;
    async_lock(guard, net::bind_executor(io, net::bind_cancellation_slot(
                                                 signal.slot(), [&](error_code failed, const scoped_lock &held) {
                                                     told = failed;
                                                     EXPECT_FALSE(held.owns_lock());
                                                 })));
    io.poll();
    EXPECT_FALSE(told);
    signal.emit(asio::cancellation_type::all);
    EXPECT_FALSE(told) << "within the emission";
    io.restart();
    io.run();
    EXPECT_EQ(told, net::error::operation_aborted);
    signal.emit(asio::cancellation_type::all); // of a wait that is over
    guard.unlock_unsuspended();
}

TEST(AsioCoroutines, AWaitRacesATimer) {
    using namespace asio::experimental::awaitable_operators;
    running_context there(2);
    mutex guard;
    channel<int> values(1);
    auto races = [&]() -> net::awaitable<void> {
        auto lock = [&]() -> net::awaitable<void> {
            auto held = co_await async_lock(guard, net::use_awaitable);
            static_cast<void>(held);
        };
        net::steady_timer timer(co_await net::this_coro::executor, 2ms);
        auto first = co_await (lock() || timer.async_wait(net::use_awaitable));
        EXPECT_EQ(first.index(), 1u);
        timer.expires_after(2ms);
        auto received = co_await (
            async_await([&](std::stop_token token) { return values.receive(std::move(token)); }, net::use_awaitable) ||
            timer.async_wait(net::use_awaitable));
        EXPECT_EQ(received.index(), 1u);
    };
    ASSERT_TRUE(guard.try_lock());
    net::co_spawn(there.io, races, net::use_future).get();
    guard.unlock_unsuspended();
    EXPECT_TRUE(guard.try_lock()) << "who gave up does not get it";
    guard.unlock_unsuspended();
}

// Emissions that come at any time, on the strand of the coroutine.
TEST(AsioCoroutines, StressOfSlots) {
    running_context there(2);
    pool workers(1);
    mutex guard;
    std::atomic<int> left = 4, got = 0, gave_up = 0;
    event done;
    auto waits = [&]() -> net::awaitable<void> {
        using namespace asio::experimental::awaitable_operators;
        auto lock = [&]() -> net::awaitable<bool> {
            auto [failed, held] = co_await async_lock(guard, asio::experimental::as_tuple(net::use_awaitable));
            co_return !failed && held.owns_lock();
        };
        net::steady_timer timer(co_await net::this_coro::executor);
        for (int i = 0; i < 300; i++) {
            timer.expires_after(std::chrono::microseconds(i % 50));
            auto first = co_await (lock() || timer.async_wait(net::use_awaitable));
            (first.index() == 0 ? got : gave_up)++;
        }
        if (--left == 0)
            done.set();
    };
    for (int i = 0; i < 4; i++)
        net::co_spawn(net::make_strand(there.io), waits, net::detached);
    auto holds = [&]() -> task<> {
        while (left > 0) {
            auto held = co_await guard.scoped_lock();
            bool slept = co_await sleep_for(20us);
            static_cast<void>(slept);
            co_await held.unlock();
        }
    };
    auto all = [&]() -> task<> {
        auto joined = [&]() -> task<> { co_await done.wait(); };
        co_await when_all(holds(), joined());
    };
    sync_wait(workers, all());
    EXPECT_EQ(got + gave_up, 4 * 300);
}
#endif

} // namespace
