// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/server/peer.hpp"

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
namespace {

constexpr auto nobody = static_cast<uid_t>(-1);

// The kernel gives the files of a process that has gained rights (set-user-ID, file capabilities) to root.
uid_t may_look_into(pid_t pid) {
    struct stat file {};
    return stat(("/proc/" + std::to_string(pid) + "/status").c_str(), &file) == 0 ? file.st_uid : nobody;
}

descriptor pidfd_of(pid_t pid) {
    return descriptor(pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1);
}

} // namespace

bool peer::has_ended() const {
    pollfd ended = {.fd = process.get(), .events = POLLIN, .revents = 0};
    return poll(&ended, 1, 0) > 0;
}

bool peer::is_still_itself() const {
    return may_look_into(pid) == uid && !has_ended();
}

uid_t user_of(int connection) {
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.uid : nobody;
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
        found.process = unknown ? pidfd_of(credentials.pid) : descriptor();
        return found;
    }
    found.process = descriptor(fd);
    return found;
}

bool has_hung_up(int connection) {
    pollfd other_end = {.fd = connection, .events = POLLRDHUP, .revents = 0};
    return poll(&other_end, 1, 0) > 0;
}

peer peer_with_pid(pid_t pid) {
    peer found;
    found.pid = pid;
    found.process = pidfd_of(pid);
    found.uid = may_look_into(pid);
    if (found.uid == nobody || found.has_ended()) // the number may have become another's in between
        found.process = descriptor();
    return found;
}

} // namespace holdfast
