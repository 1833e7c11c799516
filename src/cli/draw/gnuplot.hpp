// SPDX-License-Identifier: MIT OR Apache-2.0
// What pictures drawn by gnuplot have in common: their formats, their headings, and the program itself.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

enum class picture_format { svg, png };

// By the file name's extension. Throws usage_error when it is neither.
picture_format picture_format_of(const std::string &path);

// Throws usage_error when there is no gnuplot to draw with; it ends with `otherwise`: what else the user can do.
void check_gnuplot(const std::string &otherwise);

// Parts of a script.
std::string quoted_for_gnuplot(const std::string &text);
std::string gnuplot_terminal(picture_format format, int height);
// Above the graph. Labels 1 to 19 are theirs.
std::string gnuplot_headings(const std::string &title, const std::vector<std::string> &subtitles);

// The picture file's content. Throws failure.
std::string run_gnuplot(const std::string &script);

} // namespace holdfast::cli
