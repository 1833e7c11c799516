// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/symbol_name.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace holdfast::cli {
namespace {

// S_, S5_, T_, T0_: stands for a part that is written elsewhere in the name. Shorthands (St, Sa) have fixed texts.
bool refers_at(std::string_view name, std::size_t at) {
    if (name[at] != 'S' && name[at] != 'T')
        return false;
    std::size_t end = name.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", at + 1);
    return end != std::string_view::npos && name[end] == '_';
}

// An upper bound of how long the plain form is, as a power of two. References can be chained: m of them to the part
// before make a part m times as long, so that n of them make at most 3^(n/3) of it. An expansion of a pack (Dp, sp)
// repeats its pattern for each element, an expression of a conversion (cv) may be read twice. Letters of identifiers
// that look like one of these count, too: a reader that told them apart could be deceived.
double doublings_of(std::string_view name) {
    const double length = std::log2(static_cast<double>(name.size()));
    const double reference = std::log2(3.0) / 3;
    double sum = length;
    for (std::size_t at = 0; at + 1 < name.size(); at++) {
        std::string_view two = name.substr(at, 2);
        if (refers_at(name, at))
            sum += reference;
        else if (two == "Dp" || two == "sp")
            sum += length;
        else if (two == "cv")
            sum += 1;
    }
    return sum;
}

// About one in a thousand names of LLVM goes beyond (docs/statistics.md).
constexpr double doublings_max = 24;

bool may_be_made_plain(std::string_view name) {
    return name.starts_with("_Z") && name.size() <= symbol_name_bytes_max && doublings_of(name) <= doublings_max;
}

} // namespace

std::string plain_symbol_name(const std::string &symbol) {
    if (may_be_made_plain(symbol)) {
        int status = 0;
        std::unique_ptr<char, decltype(&std::free)> plain(
            abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
        if (status == 0)
            return std::string(std::string_view(plain.get()).substr(0, symbol_name_bytes_max));
    }
    return std::string(std::string_view(symbol).substr(0, std::min(symbol.find('@'), symbol_name_bytes_max)));
}

std::string without_parentheses(std::string_view name) {
    constexpr std::string_view nameless = "(anonymous namespace)::";
    std::string outside;
    int depth = 0;
    for (std::size_t at = 0; at < name.size();) {
        if (name.substr(at).starts_with(nameless)) {
            at += nameless.size();
            continue;
        }
        char c = name[at++];
        depth += c == '(';
        if (depth <= 0)
            outside += c;
        depth -= c == ')';
    }
    return outside;
}

} // namespace holdfast::cli
