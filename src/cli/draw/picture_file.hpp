// SPDX-License-Identifier: MIT OR Apache-2.0
// The picture that --plot asks for.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/common/output_file.hpp"
#include "cli/draw/gnuplot.hpp"

namespace holdfast::cli {

class picture_file {
public:
    // An empty path: no picture is wanted. Throws usage_error when the format is unknown, the file can't be written or
    // there is no gnuplot: before anything is measured.
    explicit picture_file(const std::string &path);

    // Writes what `drawn` makes of the format, and says where it is. Throws failure.
    void write(const std::function<std::string(picture_format)> &drawn) const;

private:
    picture_format format_ = picture_format::svg;
    std::optional<output_file> file_;
};

} // namespace holdfast::cli
