// SPDX-License-Identifier: MIT OR Apache-2.0
// Takes looks: at the monitors, at the statistics of Holdfast's programs, and at what the kernel shows of all.
#pragma once

#include <memory>
#include <string>

#include "cli/top/look.hpp"

namespace holdfast::cli::top {

class observer {
public:
    struct plan {
        std::string service_socket;
        bool futexes = true; // watch them, if the kernel lets us
        bool stacks = false; // of waiters and of holders, too: reads files that any program may have made
    };

    // What can't be seen is left out, and the look says why.
    explicit observer(const plan &what);
    ~observer();
    observer(const observer &) = delete;
    observer &operator=(const observer &) = delete;

    look take();

private:
    struct sources;
    std::unique_ptr<sources> sources_;
};

} // namespace holdfast::cli::top
