// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/common/interruption.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {
namespace {

// What a signal handler can reach.
std::atomic<int> first_signal{0};
std::atomic<int> event_fd{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) {
    int saved_errno = errno;
    int none = 0;
    first_signal.compare_exchange_strong(none, signal);
    std::uint64_t one = 1;
    [[maybe_unused]] ssize_t written =
        write(event_fd.load(), &one, sizeof(one)); // fails only when it is readable already
    errno = saved_errno;
}

} // namespace

interruption::interruption() {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        throw std::system_error(errno, std::generic_category(), "can't prepare for being interrupted (eventfd)");
    first_signal = 0;
    event_fd = fd;
    struct sigaction noting = {};
    noting.sa_handler = note;
    noting.sa_flags = SA_RESTART | SA_RESETHAND;
    for (std::size_t i = 0; i < signals.size(); i++) {
        sigaction(signals[i], nullptr, &before_[i]);
        if (before_[i].sa_handler != SIG_IGN) // nohup
            sigaction(signals[i], &noting, nullptr);
    }
}

interruption::~interruption() {
    for (std::size_t i = 0; i < signals.size(); i++)
        sigaction(signals[i], &before_[i], nullptr);
    close(event_fd.exchange(-1));
}

int interruption::signal() const {
    return first_signal;
}

int interruption::fd() const {
    return event_fd;
}

} // namespace holdfast::cli
