// SPDX-License-Identifier: MIT OR Apache-2.0
// A directory for pins in a BPF file system: what is pinned there is taken over by a process that loads the next
// monitor.
#pragma once

#include <string>

namespace holdfast {

// Why others than root and this user could have put something there, or could put something else in its place; empty:
// they couldn't. `directory` is open as `fd`.
std::string why_pins_are_anybodys(int fd, const std::string &directory);

} // namespace holdfast
