// SPDX-License-Identifier: MIT OR Apache-2.0
// The report as one HTML file that needs nothing else: no network, no scripts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/report/figure.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli::report {

// What the report says of one results file.
struct source {
    std::string path;
    json about;
    unsigned version;
    std::size_t records;
    std::size_t not_ok;
};

// `pictures` are SVG, by the figures' names.
std::string page(const std::vector<source> &sources, const std::vector<section> &sections,
                 const std::map<std::string, std::string> &pictures);

} // namespace holdfast::cli::report
