// SPDX-License-Identifier: MIT OR Apache-2.0
// A Unix SOCK_SEQPACKET socket that listens. A client can't send descriptors along (from Linux 6.16 on).
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "base/descriptor.hpp"

namespace holdfast {

class listening_socket {
public:
    // By an abstract name that can't be guessed: no file to leave behind, and chroot does not hide it. Anybody can read
    // it in /proc/net/unix. Throws std::system_error.
    listening_socket();
    // By a path, which must not be in use (a file that is left there by one that has ended is replaced), open to the
    // group, or to everybody. Removed at the end. Throws std::system_error.
    listening_socket(const std::string &path, std::optional<gid_t> group);
    listening_socket(listening_socket &&) noexcept = default;
    listening_socket &operator=(listening_socket &&) = delete;
    ~listening_socket();

    const std::string &name() const { return name_; }
    // To be polled and accepted from; does not block.
    int fd() const { return fd_.get(); }

private:
    void listen_as(const std::string &name);

    descriptor fd_;
    std::string name_;
    std::string path_; // to be removed
};

} // namespace holdfast
