// SPDX-License-Identifier: MIT OR Apache-2.0
// What every workload program is: options in, one JSON record out (docs/benchmarks.md).
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "harness/measured_lock.hpp"
#include "harness/thread_team.hpp"

namespace holdfast::bench {

struct workload_options {
    const hf_lock_kind *lock;
    unsigned threads;
    double seconds;
    double slice_us = -1;   // of u-SCL, where the workload takes it; below 0: as it is by default
    double section_us = -1; // likewise, the length of critical sections
    double between_us = -1; // likewise, the time from a release to the next request
    unsigned writers = 1;   // where threads read or write: how many write
};

// What a workload can be told beyond the usual options.
enum class further_options { none, slice_and_section, time_between, readers_and_writers };

// The data that the lock protects are not what they must be: two threads were inside at once.
class exclusion_violated : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// main() of the workload of that name: runs `run`, and prints its record. Returns 0; 1 with a sentence on stderr when
// it failed; 2 when an option is wrong.
int workload_main(int argc, char **argv, const std::string &name,
                  const std::function<team_result(const workload_options &)> &run,
                  further_options further = further_options::none);

} // namespace holdfast::bench
