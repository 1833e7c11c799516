// SPDX-License-Identifier: MIT OR Apache-2.0
// Tells a thread that waits for a descriptor to end.
#pragma once

#include <array>
#include <chrono>
#include <poll.h>
#include <sys/eventfd.h>

#include "base/descriptor.hpp"

namespace holdfast {

class end_signal {
public:
    static constexpr std::chrono::milliseconds no_limit{-1};

    // Right after the constructor, errno says why it is not.
    bool is_there() const { return static_cast<bool>(given_); }
    void give() const { eventfd_write(given_.get(), 1); }
    // Waits until it is given, `other` can be read, a signal comes, or the time is over. True when it was given.
    bool comes_within(std::chrono::milliseconds wait, int other = -1) const {
        std::array<pollfd, 2> asked{{{.fd = given_.get(), .events = POLLIN, .revents = 0},
                                     {.fd = other, .events = POLLIN, .revents = 0}}}; // poll leaves out -1
        poll(asked.data(), asked.size(), static_cast<int>(wait.count()));
        return asked[0].revents != 0;
    }

private:
    descriptor given_{eventfd(0, EFD_CLOEXEC)};
};

} // namespace holdfast
