// SPDX-License-Identifier: MIT OR Apache-2.0
// A wait for a condition that a signal handler leaves by siglongjmp, after each instruction that it has: the waiter
// goes step by step (single_steps.hpp), some more each time, and then leaves. Afterwards it has the mutex, as
// programs that time waits out this way expect, and mutex and condition variable work for everybody.
//
// Not on plain glibc, whose waits do not survive this at each instruction: between the release of the mutex and the
// registration of the clean-up a thread goes on without the mutex, and as a waiter still.
//
// Shown able to fail: with a mark beside the lock of the list for whose it is (out_of_time_beside_another is stuck).
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <string>

#include "deadline.hpp"
#include "single_steps.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

enum class ends_by { nothing, its_deadline, a_signal };

struct scene {
    const char *name;
    int type; // of the mutex
    ends_by how;
    bool beside; // another thread waits, too, and came first
};

sigjmp_buf place;

void leave() {
    siglongjmp(place, 1);
}

class LeftAnywhere : public testing::TestWithParam<scene> {
protected:
    LeftAnywhere() {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, GetParam().type);
        pthread_mutex_init(&mutex_, &attributes);
        steps_end_in(leave);
        struct sigaction action {};
        action.sa_handler = [](int) { leave(); };
        sigaction(SIGUSR1, &action, nullptr);
        stay_on_one_cpu();
        helper_ = std::thread([this] { help(); });
        if (GetParam().beside)
            beside_ = std::thread([this] { wait_beside(); });
    }
    ~LeftAnywhere() override {
        ends_ = true;
        if (GetParam().beside) {
            wake_one_beside();
            beside_.join();
        }
        helper_.join();
    }

    // Waits, and leaves after so many steps. False when there are no more: the wait has come to its end, or its sleep.
    bool wait_and_leave(long after) {
        has_slept_ = false;
        has_returned_ = false;
        steps.begin(after, GetParam().how != ends_by::a_signal);
        pthread_mutex_lock(&mutex_); // so the thread beside waits by now
        if (sigsetjmp(place, 1) == 0) {
            timespec at = GetParam().how == ends_by::its_deadline ? long_ago : from_now(CLOCK_REALTIME, far_away_ms);
            waits_ = true;
            begin_steps();
            pthread_cond_timedwait(&cond_, &mutex_, &at);
            end_steps();
            has_returned_ = true;
        }
        waits_ = false;
        while (!helper_is_idle_)
            sched_yield();
        return !has_returned_ && !(has_slept_ && GetParam().how == ends_by::nothing);
    }

    // A mutex that nobody else has is the caller's, though it may have been thrown out before it was its owner.
    bool has_mutex() {
        if (GetParam().type != PTHREAD_MUTEX_NORMAL) {
            if (pthread_mutex_unlock(&mutex_) != 0)
                return false;
            pthread_mutex_lock(&mutex_);
            return true;
        }
        if (pthread_mutex_trylock(&mutex_) != 0)
            return true;
        pthread_mutex_unlock(&mutex_);
        return false;
    }

    void wake_one_beside() {
        int heard = heard_;
        pthread_mutex_lock(&mutex_);
        told_ = true;
        pthread_cond_signal(&cond_);
        pthread_mutex_unlock(&mutex_);
        if (GetParam().beside && !eventually([&] { return heard_ != heard; }))
            std::abort(); // it can't be joined
    }

    void expect_all_is_free() {
        if (GetParam().beside)
            return wake_one_beside();
        ASSERT_EQ(pthread_mutex_trylock(&mutex_), 0);
        pthread_cond_signal(&cond_);
        pthread_mutex_unlock(&mutex_);
    }

    pthread_mutex_t mutex_{};
    pthread_cond_t cond_ = PTHREAD_COND_INITIALIZER;
    std::atomic<bool> has_slept_ = false;

private:
    void wait_beside() {
        pthread_mutex_lock(&mutex_);
        while (!ends_) {
            while (!told_)
                pthread_cond_wait(&cond_, &mutex_);
            told_ = false;
            heard_++;
        }
        pthread_mutex_unlock(&mutex_);
    }

    // What ends the waiter's sleep.
    void help() {
        for (; !ends_; std::this_thread::sleep_for(std::chrono::microseconds(50))) {
            helper_is_idle_ = false;
            if (waits_ && is_asleep()) {
                has_slept_ = true;
                if (GetParam().how == ends_by::a_signal)
                    signal();
                else
                    pthread_kill(waiter_, SIGUSR1);
                while (waits_ && is_asleep())
                    std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
            helper_is_idle_ = true;
        }
    }
    void signal() {
        pthread_mutex_lock(&mutex_);
        steps.are_counted = true;
        pthread_cond_signal(&cond_);
        pthread_mutex_unlock(&mutex_);
    }
    // In the wait for a condition: there is nothing else that it could sleep for.
    bool is_asleep() const {
        std::ifstream wchan("/proc/self/task/" + std::to_string(waiter_tid_) + "/wchan");
        std::string where;
        wchan >> where;
        return where.find("futex") != std::string::npos;
    }

    pthread_t waiter_ = pthread_self();
    pid_t waiter_tid_ = gettid();
    std::atomic<bool> waits_ = false, told_ = false, ends_ = false, helper_is_idle_ = true;
    volatile bool has_returned_ = false;
    std::atomic<int> heard_ = 0;
    std::thread helper_, beside_;
};

// Of so many steps one is tried: each is a signal, and there are a thousand to go before the last. Which ones says the
// environment, LEFT_ANYWHERE_FIRST; with 0 to 24, run by hand, each step is tried.
constexpr long stride = 25;

long first_tried() {
    const char *first = std::getenv("LEFT_ANYWHERE_FIRST");
    return first ? std::atol(first) : 0;
}

// One that is thrown out while it takes the mutex again may go without, as with glibc.
TEST_P(LeftAnywhere, IsAsIfItHadNotWaited) {
    long last = first_tried(), without = 0, first_without = 0;
    for (bool more = true; more; last += stride) {
        SCOPED_TRACE("after " + std::to_string(last) + " steps");
        more = wait_and_leave(last);
        if (!has_mutex()) {
            without++;
            first_without = first_without ? first_without : last;
            pthread_mutex_lock(&mutex_);
        }
        pthread_mutex_unlock(&mutex_);
        expect_all_is_free();
        if (HasFatalFailure())
            return;
    }
    EXPECT_GT(last, stride);
    if (GetParam().how == ends_by::nothing)
        EXPECT_EQ(without, 0) << "from step " << first_without << " on";
}

INSTANTIATE_TEST_SUITE_P(
    Of, LeftAnywhere,
    testing::Values(scene{"asleep", PTHREAD_MUTEX_NORMAL, ends_by::nothing, false},
                    scene{"asleep_beside_another", PTHREAD_MUTEX_NORMAL, ends_by::nothing, true},
                    scene{"asleep_with_a_recursive_mutex", PTHREAD_MUTEX_RECURSIVE, ends_by::nothing, false},
                    scene{"asleep_with_an_errorcheck_mutex", PTHREAD_MUTEX_ERRORCHECK, ends_by::nothing, true},
                    scene{"out_of_time", PTHREAD_MUTEX_NORMAL, ends_by::its_deadline, false},
                    scene{"out_of_time_beside_another", PTHREAD_MUTEX_NORMAL, ends_by::its_deadline, true},
                    scene{"signalled", PTHREAD_MUTEX_NORMAL, ends_by::a_signal, false}),
    [](const testing::TestParamInfo<scene> &info) { return std::string(info.param.name); });

} // namespace
} // namespace holdfast::test
