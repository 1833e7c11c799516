// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/pins_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace holdfast {

std::string why_pins_are_anybodys(int fd, const std::string &directory) {
    struct stat itself {
    }, above{};
    // A BPF file system may be mounted for everybody to make directories in (mode 1777): ours may be there before us.
    if (fstat(fd, &itself) != 0 || (itself.st_uid != 0 && itself.st_uid != geteuid()))
        return directory + " belongs to another user: remove it, or choose other --pins";
    if (itself.st_mode & (S_IWGRP | S_IWOTH))
        return directory + " may be written by others: chmod go-w, or choose other --pins";
    descriptor parent(openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!parent || fstat(parent.get(), &above) != 0 || ((above.st_mode & S_IWOTH) && !(above.st_mode & S_ISVTX)))
        return directory + " may be replaced by others: chmod +t the directory that it is in, or choose other --pins";
    return {};
}

} // namespace holdfast
