// SPDX-License-Identifier: MIT OR Apache-2.0
// What a team of threads did, as the record that a workload program prints.
#pragma once

#include <string>

#include "harness/thread_team.hpp"
#include "measure/result_record.hpp"

namespace holdfast::bench {

cli::result_record make_record(const std::string &workload, const std::string &lock, const team_result &result);

} // namespace holdfast::bench
