// SPDX-License-Identifier: MIT OR Apache-2.0
// Figure 8 of the CES paper: tasks find a random prime, put it into a map under a lock, and factor it. For coro-mutex,
// and for coro-queuing-delay, which also measures how long the lock is free while somebody waits for it.
#pragma once

#include <vector>

#include "coro/cell_main.hpp"

namespace holdfast::bench {

std::vector<contender> mutex_contenders();

} // namespace holdfast::bench
