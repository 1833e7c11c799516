// SPDX-License-Identifier: MIT OR Apache-2.0
// What keeps a few words together: held for some ten instructions, never over a switch of fibers, never while anything
// else is called.
#pragma once

#include <atomic>
#include <thread>

namespace holdfast::fibers::detail {

// Polls; from some time on it gives the CPU away, since the thread that is waited for may need it.
class polling {
public:
    void once() noexcept {
        if (++polls_ > polls_max) {
            std::this_thread::yield();
            return;
        }
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ __volatile__("isb" ::: "memory");
#endif
    }
    bool is_new() const noexcept { return polls_ <= polls_max; }

private:
    static constexpr unsigned polls_max = 40;
    unsigned polls_ = 0;
};

class spin_guard {
public:
    void lock() noexcept {
        for (polling wait; taken_.exchange(true, std::memory_order_acquire);) // pairs with unlock()
            while (taken_.load(std::memory_order_relaxed))
                wait.once();
    }
    void unlock() noexcept { taken_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> taken_ = false;
};

} // namespace holdfast::fibers::detail
