// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/cell_result.hpp"

#include "measure/workload.hpp"

namespace holdfast::cli {
namespace {

cell_status cell_status_of(const process_end &end) {
    switch (end.why) {
    case process_end::cause::timed_out: return cell_status::timeout;
    case process_end::cause::signalled: return cell_status::crash;
    default:
        return end.number == 0             ? cell_status::ok
               : end.number == exit_absent ? cell_status::absent
                                           : cell_status::failed;
    }
}

} // namespace

std::optional<json> record_printed(const process_end &end, cell_result &result) {
    cell_status &status = result.record.status;
    status = cell_status_of(end);
    if (status == cell_status::absent) {
        result.reason = last_line(end.errors);
        return std::nullopt;
    }
    if (status == cell_status::ok) {
        try {
            json record = json::parse(end.output);
            static_cast<void>(record.get<result_record>());
            return record;
        } catch (const json::exception &) {
            status = cell_status::failed;
            result.reason = "its output is not a result record";
            return std::nullopt;
        }
    }
    result.reason = end.sentence();
    if (std::string said = last_line(end.errors); !said.empty())
        result.reason += ": " + said;
    return std::nullopt;
}

} // namespace holdfast::cli
