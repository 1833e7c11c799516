// SPDX-License-Identifier: MIT OR Apache-2.0
// A coroutine that gives values one after another to a loop, on that loop's thread:
//
//     generator<int> up_to(int last) {
//         for (int i = 1; i <= last; i++)
//             co_yield i;
//     }
//     for (int i : up_to(10)) ...
//
// For compilers whose library has no std::generator yet (C++23; libstdc++ has it from version 14 on): where it has one,
// use that. It can't await anything: values that must be waited for go through a channel.
// Test: tests/coro/generator_test.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "holdfast/coro/detail/checks.hpp"

namespace holdfast::coro {

// Owns its frame. `co_yield` of a T, which is moved, or of an lvalue, which the loop gets itself.
template <class T>
class [[nodiscard("a generator does nothing until it is gone through")]] generator {
    static_assert(std::is_object_v<T>, "a generator's values are objects: give a pointer instead of a reference");

public:
    class promise_type {
    public:
        generator get_return_object() noexcept {
            return generator(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
        [[nodiscard]] std::suspend_always final_suspend() const noexcept { return {}; }
        // It lives in the frame until the loop goes on.
        std::suspend_always yield_value(T &value) noexcept {
            value_ = std::addressof(value);
            return {};
        }
        std::suspend_always yield_value(T &&value) noexcept { return yield_value(value); }
        void return_void() const noexcept {}
        void unhandled_exception() noexcept { thrown_ = std::current_exception(); }
        template <class Awaited>
        std::suspend_never await_transform(Awaited &&) = delete; // a generator can't wait: send into a channel instead

    private:
        friend generator;
        T *value_ = nullptr;
        std::exception_ptr thrown_;
    };

    class iterator {
    public:
        using iterator_concept = std::input_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;

        iterator() = default;
        explicit iterator(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
        iterator &operator++() {
            generator::resume(frame_);
            return *this;
        }
        void operator++(int) { ++*this; }
        [[nodiscard]] T &operator*() const noexcept { return *frame_.promise().value_; }
        [[nodiscard]] T *operator->() const noexcept { return frame_.promise().value_; }
        friend bool operator==(const iterator &one, std::default_sentinel_t) noexcept { return one.frame_.done(); }

    private:
        std::coroutine_handle<promise_type> frame_;
    };

    generator(generator &&other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    generator &operator=(generator &&other) noexcept {
        std::swap(frame_, other.frame_);
        return *this;
    }
    ~generator() {
        if (frame_)
            frame_.destroy();
    }

    // Goes to the first value. Requires that it was not called before. Throws what the coroutine throws; so does ++.
    [[nodiscard]] iterator begin() {
        detail::require(frame_ && !frame_.done(), "a generator is gone through that is empty, or has ended");
        resume(frame_);
        return iterator(frame_);
    }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

private:
    explicit generator(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

    static void resume(std::coroutine_handle<promise_type> frame) {
        frame.resume();
        if (frame.promise().thrown_)
            std::rethrow_exception(std::exchange(frame.promise().thrown_, nullptr));
    }

    std::coroutine_handle<promise_type> frame_;
};

} // namespace holdfast::coro
