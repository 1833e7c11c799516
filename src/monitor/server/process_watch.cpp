// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/server/process_watch.hpp"

#include <array>
#include <cerrno>
#include <span>
#include <sys/epoll.h>

namespace holdfast {

bool process_watch::add(const peer &process, std::uint32_t number) {
    if (!set_)
        set_ = descriptor(epoll_create1(EPOLL_CLOEXEC));
    epoll_event ended{};
    ended.events = EPOLLIN | EPOLLONESHOT;
    ended.data.u32 = number;
    return set_ && epoll_ctl(set_.get(), EPOLL_CTL_ADD, process.process.get(), &ended) == 0;
}

void process_watch::for_each_ended(const std::function<void(std::uint32_t number)> &ended) {
    std::array<epoll_event, 64> events{};
    while (set_) {
        int count = epoll_wait(set_.get(), events.data(), static_cast<int>(events.size()), 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return;
        for (const epoll_event &each : std::span(events.data(), static_cast<std::size_t>(count)))
            ended(each.data.u32);
    }
}

} // namespace holdfast
