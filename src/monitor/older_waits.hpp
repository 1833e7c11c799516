// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether waits that are older than a watch are seen by it.
#pragma once

#include <string>

namespace holdfast {

enum class older_waits {
    seen,
    hidden_by_pid_namespace, // their threads' numbers there are not known
    hidden_by_old_kernel
};

// Of the waits, or of what else is named. Empty when they are seen.
inline std::string why_hidden(older_waits which, const std::string &what = "waits") {
    switch (which) {
    case older_waits::seen: return "";
    case older_waits::hidden_by_pid_namespace:
        return what + " that began before are not seen from inside of a pid namespace";
    case older_waits::hidden_by_old_kernel: return what + " that began before are not seen: Linux 5.18 shows them";
    }
    return "";
}

} // namespace holdfast
