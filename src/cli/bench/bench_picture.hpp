// SPDX-License-Identifier: MIT OR Apache-2.0
// What `bench --plot` draws: throughput over numbers of threads; or what the workload is about, a heat map of lengths
// or of the threads' time, or how waits were distributed.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/bench_options.hpp"
#include "cli/draw/gnuplot.hpp"

namespace holdfast::cli {

// The picture file's content. Throws failure.
std::string bench_picture(const bench_options &options, const std::vector<result_record> &records, const json &about,
                          picture_format format);

} // namespace holdfast::cli
