// SPDX-License-Identifier: MIT OR Apache-2.0
// What the workload programs and the verb that runs them agree on.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

inline constexpr unsigned threads_max = 10000;
inline constexpr double seconds_min = 0.001;
inline constexpr double seconds_max = 86400;
inline constexpr double between_us_max = 1e6;
inline constexpr double section_us_max = 1e6;
inline constexpr unsigned slice_us_max = 100'000;

// How a workload program ends when the lock that it was told to use is not to be had here; what is missing is the last
// line that it wrote to stderr. (EX_UNAVAILABLE of sysexits.h.)
inline constexpr int exit_absent = 69;

// Whose locks a workload compares. Of interposed threads: what the interposer makes of pthread's objects.
enum class lockers { threads, interposed_threads, coroutines };

struct workload {
    const char *name;
    lockers compares;
    const char *locks; // those that are measured when none are named; empty: glibc and all of Holdfast's
    const char *summary;
};

const std::vector<workload> &workloads();
// nullptr when there is none of that name.
const workload *find_workload(const std::string &name);

// The names of coro_lock_list.def.
const std::vector<std::string> &coro_lock_names();

// Whether it takes --between-us.
bool takes_time_between(const std::string &name);

// Whether a cell of it has a length of slices and one of sections: --slices-us and --sections-us.
bool takes_lengths(const std::string &name);

// Whether a cell of it may have a length of slices: --slices-us, but not --sections-us.
bool takes_slices(const std::string &name);

// Whether what it shows is how long threads waited, more than how much they did.
bool is_about_waits(const std::string &name);

// Whether what it shows is how long a coroutine's lock was free while its next owner waited for it.
bool measures_queuing_delays(const std::string &name);

// Whether it is meant for two threads, and run with two unless told.
bool is_for_two_threads(const std::string &name);

} // namespace holdfast::cli
