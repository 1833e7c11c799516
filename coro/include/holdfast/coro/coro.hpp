// SPDX-License-Identifier: MIT OR Apache-2.0
// All of Holdfast's coroutine library but the adapters to other executors, statistics and traces. docs/coroutines.md
// has the idea, docs/coroutines-tutorial.md an example of each.
#pragma once

#include "holdfast/coro/async_scope.hpp"
#include "holdfast/coro/barrier.hpp"
#include "holdfast/coro/broadcast.hpp"
#include "holdfast/coro/channel.hpp"
#include "holdfast/coro/condition_variable.hpp"
#include "holdfast/coro/event.hpp"
#include "holdfast/coro/from_callback.hpp"
#include "holdfast/coro/generator.hpp"
#include "holdfast/coro/latch.hpp"
#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/oneshot.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/select.hpp"
#include "holdfast/coro/semaphore.hpp"
#include "holdfast/coro/shared_mutex.hpp"
#include "holdfast/coro/shared_task.hpp"
#include "holdfast/coro/sleep.hpp"
#include "holdfast/coro/spawn.hpp"
#include "holdfast/coro/task.hpp"
#include "holdfast/coro/timeout.hpp"
#include "holdfast/coro/unbounded_channel.hpp"
#include "holdfast/coro/when_all.hpp"
