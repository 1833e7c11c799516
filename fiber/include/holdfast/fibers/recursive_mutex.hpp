// SPDX-License-Identifier: MIT OR Apache-2.0
// boost::fibers::recursive_mutex, as mutex.hpp.
#pragma once

#include "holdfast/fibers/detail/recursive_lock.hpp"

namespace holdfast::fibers {

class recursive_mutex : public detail::recursive_lock {};

} // namespace holdfast::fibers
