// SPDX-License-Identifier: MIT OR Apache-2.0
// Which process started which.
#pragma once

#include <sys/types.h>

namespace holdfast {

// Is `process` a child of `ancestor`, or a child's child, and so on? False too for one whose parents have ended, and
// where /proc does not say.
bool descends_from(pid_t process, pid_t ancestor);

} // namespace holdfast
