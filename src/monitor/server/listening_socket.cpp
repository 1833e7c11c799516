// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/server/listening_socket.hpp"

#include <cerrno>
#include <stdexcept>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>

#include "hint/registration.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 // Linux 6.16
#endif

namespace holdfast {
namespace {

[[noreturn]] void fail(const std::string &what) {
    throw std::system_error(errno, std::generic_category(), what);
}

std::string new_abstract_name() {
    unsigned char random[16];
    if (getrandom(random, sizeof(random), 0) != static_cast<ssize_t>(sizeof(random)))
        fail("no random bytes for a socket name");
    std::string name = "@holdfast-";
    for (unsigned char byte : random) {
        name += "0123456789abcdef"[byte >> 4];
        name += "0123456789abcdef"[byte & 15];
    }
    return name;
}

// A process that receives a stranger's descriptor, or drops the message that brings it, may be the last to close it,
// and that can take as long as the stranger likes (SO_LINGER, FUSE). Connections have this from the socket that
// listens, before they are accepted. Kernels that do not know the option take descriptors: docs/service.md.
void refuse_descriptors(int socket) {
    int none = 0;
    setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &none, sizeof(none));
}

// By one that was killed. Nothing else is removed.
void remove_socket_left_at(const std::string &path) {
    struct stat there {};
    if (lstat(path.c_str(), &there) != 0)
        return;
    if (!S_ISSOCK(there.st_mode))
        throw std::runtime_error(path + " is no socket: remove it, or choose another path for programs to register on");
    unlink(path.c_str());
}

} // namespace

listening_socket::listening_socket() {
    listen_as(new_abstract_name());
}

listening_socket::listening_socket(const std::string &path, std::optional<gid_t> group) {
    remove_socket_left_at(path);
    // Nobody can connect before it listens, which is after it has its mode.
    mode_t before = umask(0777);
    path_ = path;
    try {
        listen_as(path);
    } catch (...) {
        umask(before);
        throw;
    }
    umask(before);
    if ((group && chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) ||
        chmod(path.c_str(), group ? 0660 : 0666) != 0)
        fail("the socket " + path + " can't be opened to those it is for");
}

listening_socket::~listening_socket() {
    if (fd_ && !path_.empty())
        unlink(path_.c_str());
}

void listening_socket::listen_as(const std::string &name) {
    name_ = name;
    fd_ = descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    refuse_descriptors(fd_.get());
    sockaddr_un address{};
    socklen_t length = hf_socket_address(name.c_str(), &address);
    if (length == 0)
        errno = ENAMETOOLONG;
    if (!fd_ || length == 0 || bind(fd_.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 ||
        listen(fd_.get(), 4096) != 0)
        fail("no socket " + name + " for programs to register on");
}

} // namespace holdfast
