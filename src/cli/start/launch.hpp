// SPDX-License-Identifier: MIT OR Apache-2.0
// Starting a program: fork and exec, with its environment, user and descriptors, and a clear answer when that fails.
#pragma once

#include <array>
#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/start/invoker.hpp"
#include "cli/start/session.hpp"

namespace holdfast::cli {

struct launch {
    std::vector<std::string> arguments; // the first is its path, or a name to look up in PATH
    environment variables = {};         // added to ours
    std::optional<invoker> user = {};   // whose rights it gets; ours without
    std::array<int, 3> standard{0, 1, 2};
    bool captive = false;              // heads a process group of its own, and is killed when the calling thread ends
    const sigset_t *signals = nullptr; // the ones that are blocked; as in the calling thread without
    bool ignores_sigchld = false;      // as ours did before we had to wait for it
};

// Starts it, and returns once it runs. Throws failure, with status 127 when there is no such program and 126 when it
// can't be executed.
pid_t start(const launch &what);

} // namespace holdfast::cli
