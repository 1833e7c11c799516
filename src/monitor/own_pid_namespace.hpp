// SPDX-License-Identifier: MIT OR Apache-2.0
// The pid namespace that we live in, for BPF programs that tell processes' numbers.
#pragma once

#include <sys/stat.h>

namespace holdfast {

// Writes its device and inode into a skeleton's constants, unless it is the first one.
template <class Constants>
void see_own_pid_namespace(Constants &constants) {
    constexpr ino_t first_pid_namespace = 0xEFFFFFFC; // PROC_PID_INIT_INO in the kernel's sources
    struct stat space {};
    if (stat("/proc/self/ns/pid", &space) != 0 || space.st_ino == first_pid_namespace)
        return;
    constants.namespace_device = space.st_dev;
    constants.namespace_inode = space.st_ino;
}

} // namespace holdfast
