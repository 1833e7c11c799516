// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/file_content.hpp"

namespace holdfast::cli::report {

void refuse(const char *why) {
    throw json::other_error::create(501, why, nullptr); // no other can be of use to anybody
}

unsigned cpus_in(const json &about) {
    return count_in(about, "cpus", 1);
}

void check_about(const json &about) {
    cpus_in(about);
    for (const char *name : {"machine", "kernel", "command", "date", "holdfast", "glibc", "monitor"}) {
        if (!about.at(name).is_string())
            refuse("about is not text");
    }
}

std::vector<result_record> records_in(const results &file) {
    std::vector<result_record> records;
    for (const auto &record : file.records)
        records.push_back(record.get<result_record>());
    if (records.empty())
        refuse("no records");
    return records;
}

std::size_t not_ok_among(const std::vector<result_record> &records) {
    return static_cast<std::size_t>(std::count_if(records.begin(), records.end(), [](const auto &one) {
        return one.status != cell_status::ok && one.status != cell_status::absent;
    }));
}

} // namespace holdfast::cli::report
