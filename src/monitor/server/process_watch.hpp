// SPDX-License-Identifier: MIT OR Apache-2.0
// Tells which of many processes have ended, at a price that grows with those that have, and not with those that run:
// their pidfds are in one epoll set.
#pragma once

#include <cstdint>
#include <functional>

#include "base/descriptor.hpp"
#include "monitor/server/peer.hpp"

namespace holdfast {

class process_watch {
public:
    // Watches the process under that number, until it has ended or its pidfd is closed: the owner keeps that. False
    // where there is no memory for it.
    bool add(const peer &process, std::uint32_t number);

    // Calls `ended` with the number of each process that has ended since it was last asked, once.
    void for_each_ended(const std::function<void(std::uint32_t number)> &ended);

private:
    descriptor set_;
};

} // namespace holdfast
