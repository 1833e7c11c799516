// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/peer.hpp"

#include <cerrno>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 // Linux 6.5
#endif

namespace holdfast {

bool peer::has_ended() const {
    pollfd ended = {.fd = process.get(), .events = POLLIN, .revents = 0};
    return poll(&ended, 1, 0) > 0;
}

// The kernel gives the files of a process that has gained rights (set-user-ID, file capabilities) to root.
bool peer::is_still_itself() const {
    struct stat file {};
    return stat(("/proc/" + std::to_string(pid) + "/status").c_str(), &file) == 0 && file.st_uid == uid && !has_ended();
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
    if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) != 0) {
        // Only where the kernel does not know the option: of a process that has ended the number may be another's now.
        bool unknown = errno == ENOPROTOOPT && credentials.pid > 0;
        fd = unknown ? static_cast<int>(syscall(SYS_pidfd_open, credentials.pid, 0)) : -1;
    }
    found.process = descriptor(fd);
    return found;
}

} // namespace holdfast
