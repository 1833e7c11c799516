// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/common/nearest_name.hpp"

#include "config/name_distance.h"

namespace holdfast::cli {
namespace {

const char *nearest_to(const std::string &word, const std::vector<std::string> &names) {
    hf_nearest_name nearest = hf_nearest_name_to(word.data(), word.size());
    for (const std::string &name : names)
        hf_nearest_name_try(&nearest, name.c_str());
    return nearest.name;
}

} // namespace

std::string did_you_mean(const std::string &word, const std::vector<std::string> &names) {
    const char *nearest = nearest_to(word, names);
    return nearest ? std::string(": did you mean '") + nearest + "'?" : "";
}

std::string or_one_of(const std::string &word, const std::vector<std::string> &names) {
    std::string meant = did_you_mean(word, names), known;
    for (const std::string &name : names)
        known += (known.empty() ? "" : ", ") + name;
    return (meant.empty() ? ":" : meant) + " use one of " + known;
}

} // namespace holdfast::cli
