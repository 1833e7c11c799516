// SPDX-License-Identifier: MIT OR Apache-2.0
// A scope in which the calling thread handles no signals.
#pragma once

#include <csignal>

namespace holdfast {

// While it lives the calling thread handles no signals but those that can't be blocked (SIGSTOP stops, SIGCONT
// continues, its handler runs later), and threads and processes that it makes begin so. A library's threads do: signals
// are for the program's own.
class [[nodiscard]] signals_blocked {
public:
    signals_blocked() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    signals_blocked(const signals_blocked &) = delete;
    signals_blocked &operator=(const signals_blocked &) = delete;

    // Those that were blocked already.
    [[nodiscard]] const sigset_t &before() const noexcept { return before_; }

private:
    sigset_t before_{};
};

} // namespace holdfast
