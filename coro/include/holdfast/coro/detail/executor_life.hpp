// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether an executor is still there, for threads that are not its own: they wake its coroutines, and it may end
// meanwhile.
//
//      LIVES --begin_end()--> ENDING --retire()--> over: the generation counts on, and another executor takes this life
//        \-- both wait until nobody is inside --/
//
// A life is memory that is never freed, so a waiter may keep its address and a generation without keeping an executor.
//
// coro.X1  A thread that is inside (enter() to leave()) of a life that LIVES may call the executor and touch those of
//     its waiters that it has chosen: their frames are destroyed, and the executor goes, only when nobody is inside.
// coro.X2  A waiter is chosen by a thread that is not its executor's own only inside, or when its executor is over. It
//     is linked, and its primitive's guard is held, when that thread enters: till then its frame is there.
// coro.X3  While its executor is ENDING a waiter gets nothing: it is set adrift. Its frame's destructor takes it back;
//     a waiter that is left when all frames that belong to the executor are gone belongs to another one, and is resumed
//     with executor_stopped.
// coro.X4  A waiter becomes an orphan where it is set adrift, under the life's guard. Its frame's destructor may read
//     that without the primitive's guard, and then pass that by: take_back() waits for the life's.
// Model: verify/coro/home.pml. Test: tests/coro/ended_executor_test, tests/coro/two_executors_stress_test.
#pragma once

#include <atomic>
#include <cstdint>

#include "holdfast/coro/detail/spin_guard.hpp"

namespace holdfast::coro {

struct waiter;

namespace detail {

class executor_life {
public:
    enum class answer : std::uint8_t { inside, ending, over };

    // One that nobody has. Throws std::bad_alloc.
    static executor_life &take();

    [[nodiscard]] std::uint32_t generation() const noexcept {
        return generation_of(word_.load(std::memory_order_relaxed));
    }
    // `inside`: until leave().
    [[nodiscard]] answer enter(std::uint32_t generation, bool even_ending = false) noexcept {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        for (;;) {
            if (generation_of(seen) != generation) {
                std::atomic_thread_fence(std::memory_order_acquire); // pairs with retire()
                return answer::over;
            }
            if ((seen & ending_bit) && !even_ending)
                return answer::ending;
            if (word_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed))
                return answer::inside;
        }
    }
    void leave() noexcept { word_.fetch_sub(1, std::memory_order_release); } // the last touch: it may go

    // Its executor's. The second call does nothing. After it nobody is inside but for even_ending.
    void begin_end() noexcept;
    // Its executor's, after begin_end(), when all its frames are destroyed. The waiters that are still adrift,
    // linked by `next`. The life is another executor's after it.
    [[nodiscard]] waiter *retire() noexcept;

    // coro.X3, X4. False when it is over: nothing was done. `given`: the waiter has what it waited for, and so it does
    // not become an orphan.
    [[nodiscard]] bool set_adrift(waiter &one, std::uint32_t generation, bool given) noexcept;
    void take_back(waiter &one) noexcept;

private:
    executor_life() = default;
    static constexpr std::uint64_t ending_bit = std::uint64_t{1} << 31;
    static constexpr std::uint64_t inside_mask = ending_bit - 1;
    static std::uint32_t generation_of(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32); }

    std::atomic<std::uint64_t> word_ = 0; // generation, ending_bit, how many are inside
    spin_guard guard_;
    waiter *adrift_ = nullptr;      // guarded
    executor_life *next_ = nullptr; // of those that nobody has
};

} // namespace detail

} // namespace holdfast::coro
