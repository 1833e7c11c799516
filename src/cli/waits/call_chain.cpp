// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/waits/call_chain.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace holdfast::cli {
namespace {

call_chain::const_iterator place_of(const call_chain &chain) {
    return std::ranges::find_if(chain, [](const call_frame &each) { return !each.of_locks; });
}

// glibc's functions that others end in, so that those have no frame any more.
std::string plain_function(const std::string &name) {
    if (name.starts_with("__new_sem_wait"))
        return "sem_wait";
    if (name.starts_with("__pthread_clockjoin"))
        return "pthread_join";
    return name.substr(std::min(name.find_first_not_of('_'), name.size()));
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
        if (name.find("::") == std::string::npos && !name.starts_with("__gthread") && is_named(*place))
            return plain_function(name);
    }
    return "";
}

bool is_in_holdfast(const call_chain &chain) {
    return !chain.empty() && chain.front().function == functions_of_holdfast;
}

bool is_named(const call_frame &frame) {
    return !frame.function.empty() && frame.function.front() != '[' && frame.function.find("+0x") == std::string::npos;
}

std::string named_caller_of(const call_chain &chain) {
    auto place = place_of(chain);
    auto caller = std::find_if(place, chain.end(), [](const auto &each) { return is_named(each) && !each.of_locks; });
    if (caller == chain.end() || caller == place)
        return "";
    return fmt::format("{} < {}", caller == place + 1 ? "" : " < ..", caller->function);
}

std::string place_in_words(const call_chain &chain) {
    const call_frame *frame = place_in_program(chain);
    if (!frame)
        return "";
    return text_of(*frame) + (is_named(*frame) ? "" : named_caller_of(chain));
}

std::string text_of(const call_frame &frame) {
    return frame.line == 0 ? frame.function : fmt::format("{} ({}:{})", frame.function, frame.file, frame.line);
}

std::string callers_in_words(const call_chain &chain, std::size_t frames_max) {
    std::string words;
    for (auto each = place_of(chain); each != chain.end() && frames_max > 0; ++each) {
        if (each->of_locks) // what a library puts around its callers' functions
            continue;
        words += (words.empty() ? "" : " < ") + each->function;
        frames_max--;
    }
    return words;
}

} // namespace holdfast::cli
