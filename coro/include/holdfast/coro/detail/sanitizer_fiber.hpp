// SPDX-License-Identifier: MIT OR Apache-2.0
// Tells the sanitizers on which stack a thread is: each keeps books of its own. In other builds nothing.
//
//     the thread                             the other stack
//     entering(), switches  -------------->  entered()
//     left()                <--------------  leaving(), switches
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HF_CORO_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define HF_CORO_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HF_CORO_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define HF_CORO_THREAD_SANITIZER
#endif
#endif

#ifdef HF_CORO_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HF_CORO_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace holdfast::coro::detail {

// Its functions are inlined whatever the options are: ThreadSanitizer counts calls and returns, each on one stack.
class sanitizer_fiber {
public:
#ifdef HF_CORO_ADDRESS_SANITIZER
    sanitizer_fiber(const void *bottom, std::size_t bytes) noexcept : bottom_(bottom), bytes_(bytes) {}
    [[gnu::always_inline]] void entering() noexcept { __sanitizer_start_switch_fiber(&outer_, bottom_, bytes_); }
    [[gnu::always_inline]] void entered() noexcept {
        __sanitizer_finish_switch_fiber(inner_, &outer_bottom_, &outer_bytes_);
    }
    [[gnu::always_inline]] void leaving(bool for_good) noexcept {
        __sanitizer_start_switch_fiber(for_good ? nullptr : &inner_, outer_bottom_, outer_bytes_);
    }
    [[gnu::always_inline]] void left() noexcept { __sanitizer_finish_switch_fiber(outer_, nullptr, nullptr); }

private:
    const void *bottom_;
    std::size_t bytes_;
    const void *outer_bottom_ = nullptr;
    std::size_t outer_bytes_ = 0;
    void *outer_ = nullptr; // frames that the sanitizer keeps apart
    void *inner_ = nullptr;
#elif defined(HF_CORO_THREAD_SANITIZER)
    sanitizer_fiber(const void *, std::size_t) noexcept : inner_(__tsan_create_fiber(0)) {}
    sanitizer_fiber(const sanitizer_fiber &) = delete;
    sanitizer_fiber &operator=(const sanitizer_fiber &) = delete;
    ~sanitizer_fiber() { __tsan_destroy_fiber(inner_); }
    [[gnu::always_inline]] void entering() noexcept {
        outer_ = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(inner_, 0);
    }
    [[gnu::always_inline]] void entered() noexcept {}
    [[gnu::always_inline]] void leaving(bool) noexcept { __tsan_switch_to_fiber(outer_, 0); }
    [[gnu::always_inline]] void left() noexcept {}

private:
    void *inner_;
    void *outer_ = nullptr;
#else
    sanitizer_fiber(const void *, std::size_t) noexcept {}
    void entering() noexcept {}
    void entered() noexcept {}
    void leaving(bool) noexcept {}
    void left() noexcept {}
#endif
};

} // namespace holdfast::coro::detail
