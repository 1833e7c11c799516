// SPDX-License-Identifier: MIT OR Apache-2.0
// Tasks and Asio (Debian: libasio-dev), both ways; boost_asio.hpp is the same for Boost.Asio.
//
//     asio_executor on(threads.get_executor());                        // tasks on Asio's threads
//     std::size_t count = co_await socket.async_read_some(room, use_task);                     // in a task
//     auto held = co_await async_lock(guard, asio::use_awaitable);    // in a coroutine of Asio's
//
// detail/asio_bridge.inc says what each promises. A file includes one of the two, as of the two Asios.
// Tests: tests/coro/asio_test, tests/coro/executors_test.
#pragma once

#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/error.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/version.hpp>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#if ASIO_VERSION >= 101900
#include <asio/associated_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/strand.hpp>
#define HF_CORO_ASIO_HAS_SLOTS
#endif

#include "holdfast/coro/detail/awaitable.hpp"
#include "holdfast/coro/detail/exceptions.hpp"
#include "holdfast/coro/detail/foreign_wait.hpp"
#include "holdfast/coro/executors/posting_executor.hpp"
#include "holdfast/coro/from_callback.hpp"
#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/spawn.hpp"
#include "holdfast/coro/task.hpp"

namespace holdfast::coro {

inline namespace with_asio {

namespace asio_bridge {
namespace library = ::asio;
using std::error_code;
using std::system_error;
} // namespace asio_bridge

#include "holdfast/coro/detail/asio_bridge.inc"

} // namespace with_asio

} // namespace holdfast::coro

template <class Returned, class... Args>
class asio::async_result<holdfast::coro::with_asio::use_task_t, Returned(Args...)>
    : public holdfast::coro::with_asio::asio_bridge::begins_in_task<Args...> {};
#ifdef HF_CORO_ASIO_HAS_SLOTS
template <class Returned, class... Args>
class asio::async_result<holdfast::coro::with_asio::stoppable_use_task, Returned(Args...)>
    : public holdfast::coro::with_asio::asio_bridge::begins_in_task<Args...> {};
#undef HF_CORO_ASIO_HAS_SLOTS
#endif
