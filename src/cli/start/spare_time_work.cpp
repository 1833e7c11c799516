// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/spare_time_work.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#include "base/signals_blocked.hpp"

namespace holdfast::cli {
namespace {

void change_policy(pid_t thread, int from, int to) {
    sched_param none{};
    if (sched_getscheduler(thread) == from)
        sched_setscheduler(thread, to, &none);
}

void use_spare_time(pid_t thread) {
    change_policy(thread, SCHED_OTHER, SCHED_IDLE);
}

void leave_spare_time(pid_t thread) {
    change_policy(thread, SCHED_IDLE, SCHED_OTHER);
}

} // namespace

spare_time_work::spare_time_work() : nice_(getpriority(PRIO_PROCESS, 0)) {}

void spare_time_work::begin(std::function<void()> work, std::function<void()> then) {
    std::lock_guard guard(beginning_);
    if (ended_)
        return;
    began_ = std::chrono::steady_clock::now();
    signals_blocked in_the_thread;
    thread_ = std::jthread([this, work = std::move(work), then = std::move(then)] {
        run(work);
        then();
    });
}

// The thread may have been made by one that has raised its own priority, which this one may do too, then.
void spare_time_work::run(const std::function<void()> &work) {
    bool may_be_raised = getpriority(PRIO_PROCESS, 0) < nice_;
    setpriority(PRIO_PROCESS, 0, nice_);
    if (may_be_raised) {
        {
            std::lock_guard guard(running_);
            runs_ = gettid();
        }
        use_spare_time(gettid());
        if (hurries_) // before there was spare time to leave
            leave_spare_time(gettid());
    }
    work();
    leave_spare_time(gettid()); // before it takes a lock
    std::lock_guard guard(running_);
    runs_ = 0;
}

void spare_time_work::hurry() {
    hurries_ = true;
    std::lock_guard guard(running_);
    if (runs_)
        leave_spare_time(runs_);
}

void spare_time_work::hurry_after(std::chrono::milliseconds patience) {
    std::unique_lock guard(beginning_);
    bool is_late = std::chrono::steady_clock::now() - began_ > patience;
    guard.unlock();
    if (is_late)
        hurry();
}

void spare_time_work::end() {
    {
        std::lock_guard guard(beginning_);
        ended_ = true;
    }
    hurry();
    if (thread_.joinable())
        thread_.join();
}

} // namespace holdfast::cli
