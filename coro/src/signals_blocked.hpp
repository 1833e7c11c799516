// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <pthread.h>
#include <signal.h>

namespace holdfast::coro {

// While it lives the calling thread takes no signals, and threads that it makes never do: signals are for the program's
// own threads.
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

private:
    sigset_t before_{};
};

} // namespace holdfast::coro
