// SPDX-License-Identifier: MIT OR Apache-2.0
// Figure 8 of the CES paper: tasks find a random prime, put it into a map under a lock, and factor it. For coro-mutex,
// and for coro-queuing-delay, which also measures how long the lock is free while somebody waits for it.
#pragma once

#include <vector>

#include "coro/cell_main.hpp"

namespace holdfast::bench {

std::vector<contender> mutex_contenders();

// No lock and no hand-over: each worker runs a task until the end and counts in a map of its own. A lock that costs
// nothing would be as fast.
contender unlocked_contender();

} // namespace holdfast::bench
