// SPDX-License-Identifier: MIT OR Apache-2.0
// What every coroutine workload is: options in, one JSON record out (docs/benchmarks.md, "Coroutines").
#pragma once

#include <string>
#include <vector>

#include "coro/cell.hpp"

namespace holdfast::bench {

struct contender {
    const char *name; // of coro_lock_list.def
    cell_result (*run)(const cell_options &);
};

// Another program of ours that has more contenders of a workload, libexec/holdfast/<name>; it may not have been built.
struct further_program {
    std::string name;
    std::vector<std::string> locks;
    std::string how_to_get_it; // a sentence without its full stop
};

// main() of the workload of that name; `defaults` are the values of options that are not given. A contender that is not
// in the list is another program's, which takes the place of this one: `further`, or libexec/holdfast/coro-peer-<name>.
// Returns 0; 1 with a sentence on stderr when it failed; 2 when an option is wrong; exit_absent, with a sentence, when
// there is no such contender here.
int coro_workload_main(int argc, char **argv, const std::string &workload, const std::vector<contender> &contenders,
                       const cell_options &defaults = {}, const further_program &further = {});

// main() of such another program of the name `lock`: it is told which workload with --workload.
struct peer_workload {
    const char *name;
    cell_result (*run)(const cell_options &);
};
int coro_peer_main(int argc, char **argv, const std::string &lock, const std::vector<peer_workload> &workloads);

} // namespace holdfast::bench
