// SPDX-License-Identifier: MIT OR Apache-2.0
// The results file of a run of `bench` or `compare` while it grows: complete at any moment, with all records but the
// one that is being measured.
#pragma once

#include <string>
#include <vector>

#include "cli/common/output_file.hpp"
#include "cli/experiment/results_file.hpp"

namespace holdfast::cli {

class record_file {
public:
    // A new file. Throws usage_error when it can't be written.
    static record_file at(const std::string &path) { return {path, false}; }
    // Goes on with what is there; the same as at() where there is nothing. Throws usage_error when that is no results
    // file.
    static record_file resuming(const std::string &path) { return {path, true}; }

    // Says where the records come from; before add(). What was there already is kept, and its `about`. Throws
    // usage_error when it comes from elsewhere (results_file.hpp, difference()).
    void describe(const json &about);

    const std::vector<json> &records_before() const { return before_.records; }
    // Where that is not what it should be: throws usage_error.
    [[noreturn]] void refuse_records() const;

    void add(const json &record);
    // No more are added: for what can't be replaced again and again, a pipe or a device.
    void finish() const;

    const std::string &name() const { return file_.name(); }

private:
    record_file(const std::string &path, bool resume);

    output_file file_;
    results before_;
    json about_;
    std::vector<std::string> lines_;
};

} // namespace holdfast::cli
