// SPDX-License-Identifier: MIT OR Apache-2.0
// boost::fibers::mutex, with combine-and-exchange scheduling where the thread runs ces<> (ces.hpp). docs/fibers.md.
#pragma once

#include "holdfast/fibers/detail/exclusive_lock.hpp"

namespace holdfast::fibers {

class mutex : public detail::exclusive_lock {};

} // namespace holdfast::fibers
