// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread whose work nobody waits for yet, on a machine whose CPUs others use.
#pragma once

#include <sys/types.h>

namespace holdfast::cli {

// From now on the calling thread runs where a CPU has nothing else to do; when a program's thread wakes up it gives way
// at once. To end that takes the right to raise priorities (CAP_SYS_NICE).
void use_spare_time();

// The thread runs like others again.
void hurry(pid_t thread);

} // namespace holdfast::cli
