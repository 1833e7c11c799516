// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/draw/gnuplot.hpp"

#include <chrono>
#include <filesystem>
#include <fmt/core.h>

#include "cli/common/exit_status.hpp"
#include "cli/start/process.hpp"

namespace holdfast::cli {
namespace {

constexpr std::chrono::seconds gnuplot_patience{60};
constexpr std::size_t subtitle_length_max = 125;

// Cuts a line that is too long where there are spaces, and puts the pieces at the end of `lines`.
void wrap(std::string line, std::vector<std::string> &lines) {
    while (line.size() > subtitle_length_max) {
        std::size_t space = line.rfind(' ', subtitle_length_max);
        if (space == std::string::npos || space < subtitle_length_max / 2)
            space = subtitle_length_max;
        lines.push_back(line.substr(0, space));
        line = "    " + line.substr(line[space] == ' ' ? space + 1 : space);
    }
    lines.push_back(line);
}

} // namespace

// What means something to gnuplot within double quotes is written as an octal number.
std::string quoted_for_gnuplot(const std::string &text) {
    std::string quoted = "\"";
    for (char c : text) {
        if (c == '\\' || c == '"' || c == '`' || c == '\n')
            quoted += fmt::format("\\{:03o}", static_cast<unsigned>(c));
        else
            quoted += c;
    }
    return quoted + "\"";
}

std::string gnuplot_terminal(picture_format format, int height) {
    constexpr int width = 1000;
    std::string terminal =
        format == picture_format::svg
            ? fmt::format(
                  "set terminal svg size {},{} font 'DejaVu Sans,Arial,sans-serif,12' background '#ffffff' dynamic\n",
                  width, height)
            : fmt::format("set terminal pngcairo size {},{} font 'DejaVu Sans,12' background '#ffffff'\n", width,
                          height);
    return terminal + "set encoding utf8\n";
}

std::string gnuplot_headings(const std::string &title, const std::vector<std::string> &subtitles) {
    std::vector<std::string> lines;
    for (const auto &one : subtitles)
        wrap(one, lines);
    std::string script = fmt::format("set label 1 {} at graph 0, graph 1 offset 0, {} font ',15' front noenhanced\n",
                                     quoted_for_gnuplot(title), 1.0 + 1.25 * static_cast<double>(lines.size()));
    for (std::size_t i = 0; i < lines.size(); i++)
        script += fmt::format(
            "set label {} {} at graph 0, graph 1 offset 0, {} font ',10' tc rgb '#505050' front noenhanced\n", i + 2,
            quoted_for_gnuplot(lines[i]), 0.8 + 1.15 * static_cast<double>(lines.size() - 1 - i));
    return script + fmt::format("set tmargin {}\n", 3 + static_cast<int>(1.3 * static_cast<double>(lines.size())));
}

picture_format picture_format_of(const std::string &path) {
    std::string extension = std::filesystem::path(path).extension().string();
    if (extension == ".svg")
        return picture_format::svg;
    if (extension == ".png")
        return picture_format::png;
    throw usage_error(
        fmt::format("can't tell the picture's format from '{}': use a name that ends in .svg or .png", path));
}

void check_gnuplot(const std::string &otherwise) {
    try {
        process(program{{"gnuplot", "--version"}}).wait(gnuplot_patience, nullptr);
    } catch (const failure &) {
        throw usage_error(
            "there is no gnuplot to draw pictures with: install it (Debian: apt-get install gnuplot-nox)" + otherwise);
    }
}

std::string run_gnuplot(const std::string &script) {
    program gnuplot{{"gnuplot", "-"}};
    gnuplot.input = script;
    process_end end = process(gnuplot).wait(gnuplot_patience, nullptr);
    if (!end.succeeded() || end.output.empty())
        throw failure(fmt::format("gnuplot could not draw the picture: it {}: {}", end.sentence(), end.errors));
    return end.output;
}

} // namespace holdfast::cli
