// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads under a scheduling algorithm, and the fibers of a test on them.
#pragma once

#include <boost/fiber/algo/round_robin.hpp>
#include <boost/fiber/algo/shared_work.hpp>
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "holdfast/fibers/ces.hpp"
#include "holdfast/fibers/condition_variable.hpp"
#include "patience.hpp"

namespace holdfast::test {

using boost::fibers::algo::round_robin;
using boost::fibers::algo::shared_work;
using boost::fibers::algo::work_stealing;
using fibers::ces;

template <class Algorithm>
void use(unsigned threads) {
    using boost::fibers::use_scheduling_algorithm;
    if constexpr (std::is_same_v<Algorithm, work_stealing> || std::is_same_v<Algorithm, ces<work_stealing>>)
        use_scheduling_algorithm<Algorithm>(threads, true);
    else if constexpr (std::is_same_v<Algorithm, shared_work> || std::is_same_v<Algorithm, ces<shared_work>>)
        use_scheduling_algorithm<Algorithm>(true);
    else
        use_scheduling_algorithm<Algorithm>();
}

// Fibers that end before wait() returns, on whatever thread.
class fiber_group {
public:
    void start(std::function<void()> work) {
        {
            std::lock_guard held(mutex_);
            running_++;
        }
        boost::fibers::fiber(boost::fibers::launch::post, [this, work = std::move(work)] {
            work();
            std::lock_guard held(mutex_);
            if (--running_ == 0)
                all_ended_.notify_all();
        }).detach();
    }
    void wait() {
        std::unique_lock held(mutex_);
        all_ended_.wait(held, [this] { return running_ == 0; });
    }

private:
    std::mutex mutex_;
    fibers::condition_variable_any all_ended_;
    unsigned running_ = 0;
};

// `first` runs in the first fiber of the first thread; the others run what it starts. `each` runs
// before it on every thread, with its number.
template <class Algorithm>
void on_threads(unsigned threads, const std::function<void()> &first, const std::function<void(unsigned)> &each = {}) {
    std::mutex mutex;
    fibers::condition_variable_any changed;
    bool over = false;
    unsigned ready = 0;
    auto thread = [&](unsigned number) {
        use<Algorithm>(threads);
        {
            std::unique_lock held(mutex);
            ready++;
            changed.notify_all();
            changed.wait(held, [&] { return ready == threads; });
        }
        if (each)
            each(number);
        if (number == 0) {
            first();
            std::lock_guard held(mutex);
            over = true;
            changed.notify_all();
        }
        std::unique_lock held(mutex);
        changed.wait(held, [&] { return over; });
    };
    std::vector<std::thread> started;
    for (unsigned i = 0; i < threads; i++)
        started.emplace_back(thread, i);
    for (std::thread &one : started)
        one.join();
}

// In a process of its own: Boost's work_stealing can be used by one set of threads in a process. What fails there is
// printed there.
inline void in_child(const std::function<void()> &test) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        test();
        std::fflush(nullptr);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

} // namespace holdfast::test
