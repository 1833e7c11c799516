// SPDX-License-Identifier: MIT OR Apache-2.0
// What the service says while it runs: lines on standard error, with the journal's priorities where that reads them.
#pragma once

#include <fmt/core.h>
#include <string>
#include <utility>

namespace holdfast::cli {

enum class log_level { error, warning, info, debug };

class service_log {
public:
    // By its name. What is less than that is not said.
    explicit service_log(const std::string &least);

    // A sentence without its end.
    template <class... Values>
    void say(log_level level, fmt::format_string<Values...> format, Values &&...values) const {
        if (level <= least_)
            write(level, fmt::format(format, std::forward<Values>(values)...));
    }

private:
    void write(log_level level, const std::string &sentence) const;

    log_level least_;
    bool is_for_journal_;
};

} // namespace holdfast::cli
