// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads of the library's own: signals are for the program's.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace holdfast::coro {

// Its thread handles no signals but those that can't be blocked. Throws std::system_error when it can't be started.
template <class Function>
[[nodiscard]] std::thread start_quiet_thread(Function function) {
    struct mask {
        sigset_t before{};
        mask() noexcept {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &before);
        }
        mask(const mask &) = delete;
        mask &operator=(const mask &) = delete;
        ~mask() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    } inherited;
    return std::thread(std::move(function));
}

} // namespace holdfast::coro
