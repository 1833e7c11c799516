// SPDX-License-Identifier: MIT OR Apache-2.0
// boost::fibers::timed_mutex, as mutex.hpp. Its owner can't get it again by waiting until a time, either.
#pragma once

#include "holdfast/fibers/detail/exclusive_lock.hpp"
#include "holdfast/fibers/detail/timed.hpp"

namespace holdfast::fibers {

class timed_mutex : public detail::timed<detail::exclusive_lock> {};

} // namespace holdfast::fibers
