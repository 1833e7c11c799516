// SPDX-License-Identifier: MIT OR Apache-2.0
// Exceptions that come out on another thread than they were thrown on: read there, and gone when nobody has them.
// ThreadSanitizer does not see the count of those that have an exception, which libstdc++.so keeps: it reports a race
// where the last of them to let go is not the one that read, unless something else orders the two. Each way out of this
// library does. Shown able to fail: under it, with a callback's exception that stays in what both share (OfACallback).
#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;

constexpr int rounds = 50;

// Reads and writes memory of its own at its begin and its end.
class failure {
public:
    failure(std::atomic<int> &living, int number) : living_(living), text_(40, static_cast<char>('a' + number % 26)) {
        living_++;
    }
    failure(const failure &other) : living_(other.living_), text_(other.text_) { living_++; }
    failure &operator=(const failure &) = delete;
    ~failure() {
        text_.assign(text_.size(), '-');
        living_--;
    }
    [[nodiscard]] const std::string &text() const noexcept { return text_; }

private:
    std::atomic<int> &living_;
    std::string text_;
};

class CoroExceptions : public testing::Test {
protected:
    // Throws on one of the other executor's threads.
    task<int> throws_elsewhere(int number) {
        co_await resume_on(elsewhere_);
        throw failure(living_, number);
    }
    task<> fails(int number) { static_cast<void>(co_await throws_elsewhere(number)); }

    // Awaits what `make` gives, `round` by round, and looks at what comes out.
    template <class Make>
    task<> reads_each(Make make) {
        for (int round = 0; round < rounds; round++) {
            try {
                co_await make(round);
            } catch (const failure &one) {
                EXPECT_EQ(one.text(), std::string(40, one.text()[0]));
                caught_++;
            }
            co_await resume_on(home_);
        }
    }
    template <class Make>
    void catch_all(Make make) {
        sync_wait(home_, reads_each(make));
        EXPECT_EQ(caught_, rounds);
    }
    // Of what nobody has any more once it is caught.
    template <class Make>
    void expect_all_caught(Make make) {
        catch_all(make);
        EXPECT_EQ(living_, 0);
    }

    std::atomic<int> living_ = 0, caught_ = 0;
    pool home_{2}, elsewhere_{2};
};

TEST_F(CoroExceptions, OfATask) {
    expect_all_caught([&](int round) { return fails(round); });
}

TEST_F(CoroExceptions, OfASyncWait) {
    for (int round = 0; round < rounds; round++) {
        try {
            static_cast<void>(sync_wait(elsewhere_, throws_elsewhere(round)));
        } catch (const failure &one) {
            EXPECT_EQ(one.text(), std::string(40, one.text()[0]));
            caught_++;
        }
    }
    EXPECT_EQ(caught_, rounds);
    EXPECT_EQ(living_, 0);
}

TEST_F(CoroExceptions, OfSeveralTasks) {
    expect_all_caught(
        [&](int round) -> task<> { co_await when_all(fails(round), fails(round + 1), throws_elsewhere(round + 2)); });
}

TEST_F(CoroExceptions, OfSeveralThatStopEachOther) {
    auto one = [&](std::stop_token) { return fails(1); };
    auto other = [&](std::stop_token) { return throws_elsewhere(2); };
    expect_all_caught([&](int) -> task<> { co_await when_all(one, other, one); });
}

TEST_F(CoroExceptions, OfTheFirstOfSeveral) {
    auto one = [&](std::stop_token) { return fails(1); };
    expect_all_caught([&](int) -> task<> { static_cast<void>(co_await when_any(one, one, one)); });
}

TEST_F(CoroExceptions, OfAScope) {
    expect_all_caught([&](int round) -> task<> {
        co_await with_scope([&](async_scope &scope) -> task<> {
            for (int i = 0; i < 3; i++)
                scope.spawn([&, i] { return fails(round + i); });
            co_await fails(round);
        });
    });
}

// Each of those that await it reads the same one.
TEST_F(CoroExceptions, OfASharedTask) {
    sync_wait(home_, [&]() -> task<> {
        for (int round = 0; round < rounds; round++) {
            shared_task<int> shared(throws_elsewhere(round));
            auto reads = [&]() -> task<> {
                try {
                    static_cast<void>(co_await shared);
                } catch (const failure &one) {
                    EXPECT_EQ(one.text(), std::string(40, one.text()[0]));
                    caught_++;
                }
            };
            co_await when_all(reads(), reads(), reads());
        }
    }());
    EXPECT_EQ(caught_, 3 * rounds);
    EXPECT_EQ(living_, 0);
}

// Of a function that an owner before runs, on its thread.
TEST_F(CoroExceptions, OfASection) {
    mutex guard;
    auto enters = [&](executor_base &on) {
        return [this, &guard, &on](int round) -> task<> {
            co_await resume_on(on);
            co_await guard.with([&] { throw failure(living_, round); });
        };
    };
    sync_wait(home_, [&]() -> task<> {
        co_await when_all(reads_each(enters(home_)), reads_each(enters(elsewhere_)), reads_each(enters(home_)));
    }());
    EXPECT_EQ(caught_, 3 * rounds);
    EXPECT_EQ(living_, 0);
}

// The callback's thread has its own copy of `done`, and of the exception, when the task reads, and drops them at any
// time.
TEST_F(CoroExceptions, OfACallback) {
    std::vector<std::thread> libraries;
    catch_all([&](int round) {
        return from_callback([&, round](callback<void> done) {
            libraries.emplace_back([this, round, done] {
                done.fail(std::make_exception_ptr(failure(living_, round)));
                std::this_thread::yield();
            });
        });
    });
    for (std::thread &one : libraries)
        one.join();
    EXPECT_EQ(living_, 0);
}

TEST_F(CoroExceptions, OfAGenerator) {
    auto counts = [&](int round) -> generator<int> {
        co_yield 1;
        throw failure(living_, round);
    };
    expect_all_caught([&](int round) -> task<> {
        for (int one : counts(round)) {
            static_cast<void>(one);
            co_await resume_on(elsewhere_);
        }
    });
}

} // namespace
