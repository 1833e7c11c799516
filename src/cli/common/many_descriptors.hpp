// SPDX-License-Identifier: MIT OR Apache-2.0
// For a process that keeps descriptors of many others: as many as it may ever have open, where 1,024 are usual.
#pragma once

#include <sys/resource.h>

namespace holdfast::cli {

inline bool allow_many_descriptors() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

} // namespace holdfast::cli
