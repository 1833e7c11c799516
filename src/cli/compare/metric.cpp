// SPDX-License-Identifier: MIT OR Apache-2.0
// RE2 and not std::regex, whose recursion overflows the stack on long output.
#include "cli/compare/metric.hpp"

#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <re2/re2.h>
#include <string_view>

#include "cli/common/exit_status.hpp"

namespace holdfast::cli {
namespace {

constexpr std::string_view every_line = "(?m)"; // ^ and $

} // namespace

metric::metric(const std::string &pattern) {
    RE2::Options options(RE2::Latin1); // output is bytes, whatever they mean
    options.set_log_errors(false);
    expression_ = std::make_unique<RE2>(std::string(every_line) + pattern, options);
    if (!expression_->ok()) {
        std::string why = expression_->error();
        if (std::size_t ours = why.find(every_line); ours != std::string::npos)
            why.erase(ours, every_line.size());
        throw usage_error(fmt::format("--metric '{}' is not a regular expression: {}", pattern, why));
    }
    if (expression_->NumberOfCapturingGroups() == 0)
        throw usage_error(fmt::format(
            "--metric '{}' has no group: put parentheses around the number, as in 'ops/s: ([0-9.]+)'", pattern));
    if (expression_->NumberOfCapturingGroups() > 1)
        throw usage_error(fmt::format("--metric '{}' has several groups: put parentheses around the number alone, and "
                                      "(?:...) around what else belongs together",
                                      pattern));
}

metric::~metric() = default;

std::optional<double> metric::find(const std::string &output) const {
    std::string text;
    if (!RE2::PartialMatch(output, *expression_, &text))
        return std::nullopt;
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

} // namespace holdfast::cli
