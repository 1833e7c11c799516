// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/draw/picture_file.hpp"

#include <fmt/core.h>

namespace holdfast::cli {

picture_file::picture_file(const std::string &path) {
    if (path.empty())
        return;
    format_ = picture_format_of(path);
    file_.emplace(path);
    check_gnuplot(" or leave --plot out");
}

void picture_file::write(const std::function<std::string(picture_format)> &drawn) const {
    if (!file_)
        return;
    file_->write(drawn(format_));
    fmt::print("Picture: {}\n", file_->name());
}

} // namespace holdfast::cli
