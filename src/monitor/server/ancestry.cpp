// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/server/ancestry.hpp"

#include <fstream>
#include <limits>
#include <string>

namespace holdfast {
namespace {

// 0 when it is not known.
pid_t parent_of(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    std::string field;
    while (status >> field) {
        pid_t parent = 0;
        if (field == "PPid:" && status >> parent)
            return parent;
        status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return 0;
}

} // namespace

bool descends_from(pid_t process, pid_t ancestor) {
    while (process > 1) {
        process = parent_of(process);
        if (process == ancestor)
            return true;
    }
    return false;
}

} // namespace holdfast
