// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/ending.hpp"

#include <csignal>
#include <cstdio>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace holdfast::cli {
namespace {

// The program has left its core, if any; ours would overwrite it. The limit does not hold for a core that is piped to
// a program, being undumpable does.
void leave_no_core() {
    struct rlimit none {};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
}

} // namespace

int ending::take() const {
    if (signal_ == 0 && !at_once_)
        return status_;
    std::fflush(nullptr); // as exit() would
    if (signal_ == 0)
        _exit(status_);
    leave_no_core();
    std::signal(signal_, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal_);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    std::raise(signal_);
    if (at_once_)
        _exit(status_);
    return status_;
}

} // namespace holdfast::cli
