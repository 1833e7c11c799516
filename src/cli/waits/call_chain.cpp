// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/waits/call_chain.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace holdfast::cli {
namespace {

call_chain::const_iterator place_of(const call_chain &chain) {
    return std::ranges::find_if(chain, [](const call_frame &each) { return !each.of_locks; });
}

} // namespace

const call_frame *place_in_program(const call_chain &chain) {
    auto place = place_of(chain);
    if (place != chain.end())
        return &*place;
    return chain.empty() ? nullptr : &chain.front();
}

std::string lock_function_in(const call_chain &chain) {
    auto place = place_of(chain);
    if (place == chain.end())
        return "";
    while (place != chain.begin()) {
        --place;
        const std::string &name = place->function;
        if (name.find("::") == std::string::npos && !name.starts_with("__gthread") &&
            name.find('+') == std::string::npos)
            return name.substr(std::min(name.find_first_not_of('_'), name.size()));
    }
    return "";
}

std::string text_of(const call_frame &frame) {
    return frame.line == 0 ? frame.function : fmt::format("{} ({}:{})", frame.function, frame.file, frame.line);
}

std::string callers_in_words(const call_chain &chain, std::size_t frames_max) {
    std::string words;
    for (auto each = place_of(chain); each != chain.end() && frames_max > 0; ++each, frames_max--)
        words += (words.empty() ? "" : " < ") + each->function;
    return words;
}

} // namespace holdfast::cli
