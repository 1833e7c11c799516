// SPDX-License-Identifier: MIT OR Apache-2.0
// What keeps a primitive's own few words together: held for some ten instructions, never while user code runs, never
// across a suspension.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace holdfast::coro {

// Tells the processor that this is a polling loop.
inline void pause_polling() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

// Polls between attempts; from some time on it gives the CPU away, since a task that is waited for may need it.
class spin_wait {
public:
    void once() noexcept {
        if (++polls_ <= polls_max)
            pause_polling();
        else
            std::this_thread::yield();
    }

private:
    static constexpr unsigned polls_max = 40;
    unsigned polls_ = 0;
};

class spin_guard {
public:
    void lock() noexcept {
        spin_wait wait;
        // Pairs with unlock(): what the last holder wrote.
        while (word_.exchange(1, std::memory_order_acquire) != 0) {
            while (word_.load(std::memory_order_relaxed) != 0)
                wait.once();
        }
    }
    void unlock() noexcept { word_.store(0, std::memory_order_release); }

private:
    std::atomic<std::uint32_t> word_ = 0;
};

class [[nodiscard]] spin_lock {
public:
    explicit spin_lock(spin_guard &guard) noexcept : guard_(guard) { guard_.lock(); }
    ~spin_lock() { guard_.unlock(); }
    spin_lock(const spin_lock &) = delete;
    spin_lock &operator=(const spin_lock &) = delete;

private:
    spin_guard &guard_;
};

} // namespace holdfast::coro
