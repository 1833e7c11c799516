// SPDX-License-Identifier: MIT OR Apache-2.0
// A file that is either as it was or complete: written beside its place, then moved there.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace holdfast::cli {

class output_file {
public:
    // Throws usage_error when it can't be written: before there is anything to lose.
    explicit output_file(const std::string &path);

    // Replaces what is there. Throws failure.
    void write(const std::string &content) const;
    const std::string &name() const { return name_; }
    // False for a device, a pipe, and a file that a descriptor of ours has open, which get all that is ever written.
    bool is_replaced() const { return !in_place_; }
    // Is anything lost by that?
    bool has_content() const {
        std::error_code ignored;
        auto bytes = std::filesystem::file_size(place_, ignored);
        return is_replaced() && !ignored && bytes != 0;
    }

private:
    std::string name_;            // as the user gave it
    std::filesystem::path place_; // where it leads to
    bool in_place_;               // a device, a pipe, an open file: can't be replaced, is written to
    bool is_descriptor_;          // a descriptor's name, as /dev/stdout
};

} // namespace holdfast::cli
