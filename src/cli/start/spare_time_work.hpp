// SPDX-License-Identifier: MIT OR Apache-2.0
// Work whose result nobody waits for yet, on a machine whose CPUs others use.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <sys/types.h>
#include <thread>

namespace holdfast::cli {

// One piece of work in a thread of its own, which runs where a CPU has nothing else to do and gives way to each thread
// that wakes up, until it is hurried. That takes the right to raise priorities (CAP_SYS_NICE); without it the work has
// the priority of what made this object.
class spare_time_work {
public:
    spare_time_work();
    ~spare_time_work() { end(); }
    spare_time_work(const spare_time_work &) = delete;
    spare_time_work &operator=(const spare_time_work &) = delete;

    // Once at most, by any thread; does nothing after end(). `work` holds no lock that others want: they would wait for
    // spare time, too. `then` runs after it, no longer in spare time.
    void begin(std::function<void()> work, std::function<void()> then);
    // Spare time is not waited for any more, from now on.
    void hurry();
    // Hurries work that has begun so long ago.
    void hurry_after(std::chrono::milliseconds patience);
    // Returns when the work is done. None begins any more.
    void end();

private:
    void run(const std::function<void()> &work);

    const int nice_;
    std::atomic<bool> hurries_ = false;
    std::mutex running_; // guards the thread's number, which names it for as long as the thread holds it up
    pid_t runs_ = 0;     // 0: no thread that could be hurried
    std::mutex beginning_;
    bool ended_ = false;
    std::chrono::steady_clock::time_point began_;
    std::jthread thread_;
};

} // namespace holdfast::cli
