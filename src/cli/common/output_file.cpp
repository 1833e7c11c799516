// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/common/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "cli/common/exit_status.hpp"

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

std::string because(int error) {
    return std::generic_category().message(error);
}

// 0 or an errno.
int write_all(int fd, const std::string &content) {
    for (std::size_t done = 0; done < content.size();) {
        ssize_t written = write(fd, content.data() + done, content.size() - done);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0)
            done += static_cast<std::size_t>(written);
    }
    return 0;
}

// /dev/stdout leads to what standard output has open, and replacing that would lose what else is printed. Of a file
// that is read as standard input nothing is lost. The descriptor, or -1.
int descriptor_printed_to(const fs::path &place) {
    struct stat there {
    }, printed{};
    if (stat(place.c_str(), &there) != 0 || !S_ISREG(there.st_mode))
        return -1;
    for (int fd : {STDOUT_FILENO, STDERR_FILENO}) {
        if (fstat(fd, &printed) == 0 && printed.st_dev == there.st_dev && printed.st_ino == there.st_ino)
            return fd;
    }
    return -1;
}

// Whether a symbolic link on the way is a descriptor's: /proc/self/fd/7, /dev/fd/7.
bool leads_through_descriptor(fs::path path) {
    std::error_code error;
    for (int links = 0; links < 40; links++) { // as many as the kernel follows
        fs::path directory = fs::weakly_canonical(fs::absolute(path).parent_path(), error);
        if (directory.string().starts_with("/proc/") && directory.filename() == "fd")
            return true;
        fs::path next = fs::read_symlink(path, error);
        if (error)
            return false;
        path = directory / next;
    }
    return false;
}

// What a file made with open(2) would have; there is no way to ask for it but this.
mode_t usual_mode() {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

// Writes a new file beside `place` and tells its name. 0 or an errno.
int write_beside(const fs::path &place, const std::string &content, std::string &name) {
    name = place.string() + ".XXXXXX";
    int fd = mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = write_all(fd, content);
    struct stat before;
    mode_t mode = stat(place.c_str(), &before) == 0 ? before.st_mode & 07777 : usual_mode();
    if (!error && fchmod(fd, mode) < 0)
        error = errno;
    if (close(fd) < 0 && !error)
        error = errno;
    if (error)
        unlink(name.c_str());
    return error;
}

} // namespace

output_file::output_file(const std::string &path) : name_(path) {
    std::error_code ignored;
    place_ = fs::weakly_canonical(path, ignored); // through symbolic links: what they lead to is replaced, not they
    if (place_.empty())
        place_ = path;
    fs::file_status there = fs::status(place_, ignored);
    if (path.empty())
        throw usage_error("can't write a file without a name: give one, or leave the option out");
    if (fs::is_directory(there))
        throw usage_error(fmt::format("can't write '{}': it is a directory; give a file's name", path));
    is_descriptor_ = leads_through_descriptor(path);
    in_place_ =
        fs::exists(there) && (!fs::is_regular_file(there) || is_descriptor_ || descriptor_printed_to(place_) >= 0);

    int error = 0;
    if (in_place_ || fs::exists(there))
        error = access(place_.c_str(), W_OK) < 0 ? errno : 0;
    std::string beside;
    if (!error && !in_place_ && (error = write_beside(place_, "", beside)) == 0)
        unlink(beside.c_str());
    if (error)
        throw usage_error(fmt::format("can't write '{}': {}", path, because(error)));
}

void output_file::write(const std::string &content) const {
    int error = 0;
    if (in_place_) {
        // What is printed to the same file goes before and behind: the two share the place where they write.
        std::fflush(stdout);
        int printed = descriptor_printed_to(place_);
        fs::path name = is_descriptor_ ? fs::path(name_) : place_;
        int fd =
            printed >= 0 ? fcntl(printed, F_DUPFD_CLOEXEC, 0) : open(name.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
        error = fd < 0 ? errno : write_all(fd, content);
        if (fd >= 0)
            close(fd);
    } else {
        std::string beside;
        error = write_beside(place_, content, beside);
        if (!error && rename(beside.c_str(), place_.c_str()) < 0) {
            error = errno;
            unlink(beside.c_str());
        }
    }
    if (error)
        throw failure(fmt::format("can't write '{}': {}", name_, because(error)));
}

} // namespace holdfast::cli
