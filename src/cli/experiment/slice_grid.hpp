// SPDX-License-Identifier: MIT OR Apache-2.0
// What was measured for lengths of slices and of sections (scl-slice), as tables and as a heat map: a row for each
// length of sections, a column for each contender.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/draw/heat_map.hpp"
#include "cli/experiment/cell_summary.hpp"
#include "measure/result_record.hpp"

namespace holdfast::cli {

// A lock, with slices of that length if it has slices.
struct contender {
    std::string lock;
    std::optional<double> slice_us{};

    std::string label() const; // glibc, uscl 10us, uscl 0
    bool operator==(const contender &) const = default;
};

// With no slices to measure each lock is one contender, whatever it is.
std::vector<contender> contenders_of(const std::vector<std::string> &locks, const std::vector<unsigned> &slices_us);

// The records with what they are of for a lock: so that those of one lock with several lengths of slices can be told
// apart like those of several locks.
std::vector<result_record> named_by_contender(std::vector<result_record> records);

// The rounds of a contender, beside those of the locks that have no slices; of the sections of that length, where they
// have one.
cell_summary summary_of(const std::vector<result_record> &records, const contender &whose,
                        std::optional<double> section_us, unsigned threads);

struct grid_table {
    std::string name; // a word
    std::string title;
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows; // the first cell is the section's length
};

struct slice_grid {
    std::vector<contender> contenders;
    std::vector<double> sections_us;
    std::vector<unsigned> threads;

    // Throughput, its ratio to glibc with sections of that length, the longest wait, Jain's index: a table each for
    // each number of threads.
    std::vector<grid_table> tables(const std::vector<result_record> &records) const;

    // Without headings.
    heat_map picture(const std::vector<result_record> &records) const;
};

} // namespace holdfast::cli
