// SPDX-License-Identifier: MIT OR Apache-2.0
// The results file of a run of `bench` or `compare` while it grows: complete at any moment, with all records but the
// one that is being measured.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common/output_file.hpp"
#include "cli/common/say.hpp"
#include "cli/experiment/results_file.hpp"

namespace holdfast::cli {

class record_file {
public:
    // A new file. Throws usage_error when it can't be written.
    static record_file at(const std::string &path) { return {path, false}; }
    // Goes on with what is there; the same as at() where there is nothing. Throws usage_error when that is no results
    // file.
    static record_file resuming(const std::string &path) { return {path, true}; }

    // Says where the records come from; before add(). Returns what was there already: it is kept, and its `about`, and
    // the user told how many of `wanted` these are. Throws usage_error when they come from elsewhere (results_file.hpp,
    // difference()), or are no Records.
    template <typename Record>
    std::vector<Record> go_on(const json &about, std::size_t wanted, std::string_view what) {
        describe(about);
        std::vector<Record> records;
        try {
            for (const json &one : before_.records)
                records.push_back(one.get<Record>());
        } catch (const json::exception &) {
            refuse_records();
        }
        if (replaced_ != 0)
            say("holdfast: '{}' had {} {}, which are replaced: --resume FILE goes on with what is there\n", name(),
                replaced_, what);
        if (!records.empty())
            say("holdfast: going on with '{}': {} of {} {} are there\n", name(), records.size(), wanted, what);
        return records;
    }

    void add(const json &record);
    // One more entry of the `about`; an empty one is none.
    void note(const std::string &name, const std::string &sentence);
    // No more are added: for what can't be replaced again and again, a pipe or a device.
    void finish() const;

    const std::string &name() const { return file_.name(); }

private:
    record_file(const std::string &path, bool resume);

    void describe(const json &about);
    [[noreturn]] void refuse_records() const;

    output_file file_;
    results before_;
    std::size_t replaced_ = 0; // records that the file had, and that it will lose
    json about_;
    std::vector<std::string> lines_;
};

// Behind "interrupted after ...". Nothing is kept where no file is.
std::string how_to_go_on(const std::optional<record_file> &with);

} // namespace holdfast::cli
