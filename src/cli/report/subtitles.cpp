// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/subtitles.hpp"

#include <fmt/core.h>

#include "cli/experiment/results_file.hpp"

namespace holdfast::cli::report {

std::string why_no_measurement(const json &about) {
    return about.contains("busy") ? fmt::format(" Measured while {}.", about.at("busy").get<std::string>()) : "";
}

std::vector<std::string> subtitles_of(const json &about, const std::string &what) {
    return {fmt::format("{}, {}; {}{}", machine_in(about), about.at("kernel").get<std::string>(), what,
                        about.contains("busy") ? "; the machine was busy" : ""),
            "$ " + about.at("command").get<std::string>()};
}

} // namespace holdfast::cli::report
