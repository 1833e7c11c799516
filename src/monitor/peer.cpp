// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/peer.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 // Linux 6.5
#endif

namespace holdfast {

bool peer::has_ended() const {
    pollfd ended = {.fd = process.get(), .events = POLLIN, .revents = 0};
    return poll(&ended, 1, 0) > 0;
}

peer peer_of(int connection) {
    peer found;
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
        return found;
    found.uid = credentials.uid;
    found.pid = credentials.pid;
    int fd = -1;
    length = sizeof(fd);
    if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) != 0)
        fd = credentials.pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, credentials.pid, 0)) : -1;
    found.process = descriptor(fd);
    return found;
}

} // namespace holdfast
