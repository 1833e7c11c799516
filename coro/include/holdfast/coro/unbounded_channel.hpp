// SPDX-License-Identifier: MIT OR Apache-2.0
// A channel whose senders never wait: from any thread, also from where nothing can be awaited. It keeps what is not
// received yet, however much that is; channel.hpp has one that makes senders wait.
//
// coro.N1 to N4 (channel.hpp) hold. Test: tests/coro/channels_test.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "holdfast/coro/channel.hpp"

namespace holdfast::coro {

namespace detail {

struct select_access;

template <class T>
struct link {
    explicit link(T &&from) : value(std::move(from)) {}
    T value;
    link *next = nullptr;
};

// Room without an end. What lies there was allocated by its sender, so nothing is under the guard.
template <class T>
class chain {
public:
    chain() = default;
    chain(const chain &) = delete;
    chain &operator=(const chain &) = delete;
    ~chain() {
        while (first_)
            delete std::exchange(first_, first_->next);
    }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return std::numeric_limits<std::size_t>::max(); }
    [[nodiscard]] bool full() const noexcept { return false; }
    void put(std::unique_ptr<link<T>> &&value) noexcept {
        link<T> *one = value.release();
        (first_ ? last_->next : first_) = one;
        last_ = one;
        count_++;
    }
    [[nodiscard]] std::optional<std::unique_ptr<link<T>>> take() noexcept {
        count_--;
        return std::unique_ptr<link<T>>(std::exchange(first_, first_->next));
    }

private:
    link<T> *first_ = nullptr;
    link<T> *last_ = nullptr;
    std::size_t count_ = 0;
};

} // namespace detail

template <class T>
class [[nodiscard]] unbounded_channel {
    static_assert(std::is_object_v<T>, "a channel's values are objects: send a pointer instead of a reference");
    using node = std::unique_ptr<detail::link<T>>;
    using channel_of_nodes = channel<node, detail::chain<T>>;

public:
    // From any thread. False when the channel is closed: the value is dropped then. O(1). Throws std::bad_alloc, and
    // what the value's move does.
    bool send(T value) {
        auto one = std::make_unique<detail::link<T>>(std::move(value));
        return of_.try_send(one);
    }

    class receive_awaiter : public channel_of_nodes::receive_awaiter {
    public:
        using channel_of_nodes::receive_awaiter::receive_awaiter;
        [[nodiscard]] std::optional<T> await_resume() {
            return value_of(channel_of_nodes::receive_awaiter::await_resume());
        }
    };

    // co_await c.receive(): nothing when the channel is closed and empty, or a limit was reached. O(1).
    [[nodiscard]] receive_awaiter receive(std::stop_token token = {}) {
        return receive_awaiter(of_, {std::nullopt, std::move(token)});
    }
    template <class Rep, class Period>
    [[nodiscard]] receive_awaiter receive_for(std::chrono::duration<Rep, Period> time, std::stop_token token = {}) {
        return receive_until(deadline_after(time), std::move(token));
    }
    [[nodiscard]] receive_awaiter receive_until(deadline_clock::time_point deadline, std::stop_token token = {}) {
        return receive_awaiter(of_, {deadline, std::move(token)});
    }
    // From any thread.
    [[nodiscard]] std::optional<T> try_receive() { return value_of(of_.try_receive()); }

    // How many values nobody has received yet. It may be another number by now.
    [[nodiscard]] std::size_t size() const noexcept { return of_.size(); }
    [[nodiscard]] bool closed() const noexcept { return of_.closed(); }
    // From any thread; all who wait go on. O(waiters).
    void close() noexcept { of_.close(); }

private:
    friend struct detail::select_access;

    static std::optional<T> value_of(std::optional<node> got) {
        if (!got)
            return std::nullopt;
        return std::optional<T>(std::move((*got)->value));
    }

    channel_of_nodes of_;
};

} // namespace holdfast::coro
