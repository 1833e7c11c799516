// SPDX-License-Identifier: MIT OR Apache-2.0
// Tasks and Boost.Asio (Debian: libboost-dev), both ways; asio.hpp is the same for the Asio that is on its own.
//
//     asio_executor on(threads.get_executor());                        // tasks on Asio's threads
//     std::size_t count = co_await socket.async_read_some(room, use_task);                     // in a task
//     auto held = co_await async_lock(guard, boost::asio::use_awaitable);    // in a coroutine of Asio's
//
// detail/asio_bridge.inc says what each promises. A file includes one of the two, as of the two Asios.
// Tests: tests/coro/asio_test, tests/coro/executors_test.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/version.hpp>
#include <boost/system/system_error.hpp>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
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

inline namespace with_boost_asio {

namespace asio_bridge {
namespace library = ::boost::asio;
using boost::system::error_code;
using boost::system::system_error;
} // namespace asio_bridge

#include "holdfast/coro/detail/asio_bridge.inc"

} // namespace with_boost_asio

} // namespace holdfast::coro

template <class Returned, class... Args>
class boost::asio::async_result<holdfast::coro::with_boost_asio::use_task_t, Returned(Args...)>
    : public holdfast::coro::with_boost_asio::asio_bridge::begins_in_task<Args...> {};
#ifdef HF_CORO_ASIO_HAS_SLOTS
template <class Returned, class... Args>
class boost::asio::async_result<holdfast::coro::with_boost_asio::stoppable_use_task, Returned(Args...)>
    : public holdfast::coro::with_boost_asio::asio_bridge::begins_in_task<Args...> {};
#undef HF_CORO_ASIO_HAS_SLOTS
#endif
