// SPDX-License-Identifier: MIT OR Apache-2.0
// All of them.
#pragma once

#include "holdfast/fibers/ces.hpp"
#include "holdfast/fibers/condition_variable.hpp"
#include "holdfast/fibers/mutex.hpp"
#include "holdfast/fibers/recursive_mutex.hpp"
#include "holdfast/fibers/recursive_timed_mutex.hpp"
#include "holdfast/fibers/timed_mutex.hpp"
