// SPDX-License-Identifier: MIT OR Apache-2.0
// boost::fibers::recursive_timed_mutex, as mutex.hpp.
#pragma once

#include "holdfast/fibers/detail/recursive_lock.hpp"
#include "holdfast/fibers/detail/timed.hpp"

namespace holdfast::fibers {

class recursive_timed_mutex : public detail::timed<detail::recursive_lock> {};

} // namespace holdfast::fibers
