// SPDX-License-Identifier: MIT OR Apache-2.0
// A number that a program prints, found by a regular expression.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace re2 {
class RE2;
}

namespace holdfast::cli {

class metric {
public:
    // RE2 syntax; ^ and $ match at every line. The first group is the number. Throws usage_error when it is not a
    // regular expression or has no group.
    explicit metric(const std::string &pattern);
    ~metric();

    // Where it matches first. Empty when it does not, or when the group is not a number.
    std::optional<double> find(const std::string &output) const;

private:
    std::unique_ptr<re2::RE2> expression_;
};

} // namespace holdfast::cli
