// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/record_file.hpp"

#include <filesystem>
#include <fmt/core.h>

#include "cli/common/exit_status.hpp"

namespace holdfast::cli {
namespace {

bool has_content(const std::string &path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && std::filesystem::file_size(path, ignored) > 0;
}

// 0 of what is no results file.
std::size_t records_in(const std::string &path) {
    try {
        return read_results(path).records.size();
    } catch (const usage_error &) {
        return 0;
    }
}

} // namespace

record_file::record_file(const std::string &path, bool resume) : file_(path) {
    if (!has_content(path))
        return;
    if (!resume) {
        replaced_ = records_in(path);
        return;
    }
    before_ = read_results(path);
    for (const auto &record : before_.records)
        lines_.push_back(dumped(record, -1));
}

void record_file::describe(const json &about) {
    about_ = about;
    if (before_.records.empty())
        return;
    std::string why_not = difference(before_.about, about);
    if (!why_not.empty())
        throw usage_error(fmt::format("can't go on with '{}': {}; give another file, or the same options on the same "
                                      "machine",
                                      name(), why_not));
    about_ = before_.about;
    about_["options"] = about.at("options");
    about_["resumed"].push_back(about.at("date"));
}

void record_file::refuse_records() const {
    throw usage_error(fmt::format("can't go on with '{}': its records are not of the kind that this would add; give "
                                  "another file",
                                  name()));
}

void record_file::add(const json &record) {
    lines_.push_back(dumped(record, -1));
    if (file_.is_replaced())
        file_.write(results_text(about_, lines_));
}

void record_file::note(const std::string &name, const std::string &sentence) {
    if (!sentence.empty() && !about_.contains(name)) // what was so once was so
        about_[name] = sentence;
    if (file_.is_replaced() && !lines_.empty())
        file_.write(results_text(about_, lines_));
}

void record_file::finish() const {
    if (!file_.is_replaced() && !lines_.empty())
        file_.write(results_text(about_, lines_));
}

std::string how_to_go_on(const std::optional<record_file> &with) {
    return with ? fmt::format(": '--resume {}' goes on with them", with->name())
                : "; with --json FILE they are kept, and --resume FILE goes on";
}

} // namespace holdfast::cli
