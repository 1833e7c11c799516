// SPDX-License-Identifier: MIT OR Apache-2.0
// For who keeps descriptors of many processes: as many as the process may ever have open.
#pragma once

#include <sys/resource.h>

namespace holdfast::cli {

inline void allow_many_descriptors() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

} // namespace holdfast::cli
