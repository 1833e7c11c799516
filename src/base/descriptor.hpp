// SPDX-License-Identifier: MIT OR Apache-2.0
// A file descriptor that is closed when its owner goes.
#pragma once

#include <unistd.h>
#include <utility>

namespace holdfast {

class descriptor {
public:
    explicit descriptor(int fd = -1) : fd_(fd) {}
    descriptor(descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor &operator=(descriptor &&other) noexcept {
        int fd = std::exchange(other.fd_, -1); // first: it may be this one
        close_if_open();
        fd_ = fd;
        return *this;
    }
    ~descriptor() { close_if_open(); }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); } // the caller closes it
    explicit operator bool() const { return fd_ >= 0; }

private:
    void close_if_open() {
        if (fd_ >= 0)
            close(fd_);
    }

    int fd_;
};

} // namespace holdfast
