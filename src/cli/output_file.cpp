// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/output_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "cli/exit_status.hpp"

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
    in_place_ = fs::exists(there) && !fs::is_regular_file(there);

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
        int fd = open(place_.c_str(), O_WRONLY | O_CLOEXEC);
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
