// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/thread_time_table.hpp"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>

#include "measure/result_record.hpp"
#include "measure/statistics.hpp"
#include "measure/table.hpp"

namespace holdfast::cli {
namespace {

struct column {
    const char *name;
    const char *meaning;
    double thread_time::*field;
};

constexpr std::array<column, 3> columns = {{
    {"CPU", "used a CPU", &thread_time::cpu_s},
    {"held", "held the lock", &thread_time::held_s},
    {"opportunity", "held the lock, or could have", &thread_time::opportunity_s},
}};

// The median of the rounds' parts of the time.
std::optional<double> part_of_time(const std::vector<const result_record *> &rounds, std::size_t thread,
                                   double thread_time::*field) {
    std::vector<double> parts;
    for (const result_record *one : rounds)
        parts.push_back(one->thread_times[thread].*field / *one->measured_s);
    return median(parts);
}

std::vector<const result_record *> rounds_with_times(const std::vector<result_record> &records, const std::string &lock,
                                                     unsigned threads) {
    std::vector<const result_record *> rounds;
    for (const auto &one : records) {
        if (one.lock == lock && one.threads == threads && one.status == cell_status::ok &&
            one.thread_times.size() == threads && one.measured_s && *one.measured_s > 0)
            rounds.push_back(&one);
    }
    return rounds;
}

} // namespace

std::string thread_time_tables(const std::vector<result_record> &records, const std::vector<std::string> &locks,
                               const std::vector<unsigned> &threads) {
    std::string text;
    for (unsigned count : threads) {
        std::vector<std::string> header{"", "thread"};
        for (const column &one : columns)
            header.emplace_back(one.name);
        table rows(header);
        bool is_empty = true;
        for (const auto &lock : locks) {
            auto rounds = rounds_with_times(records, lock, count);
            for (std::size_t thread = 0; thread < count && !rounds.empty(); thread++) {
                std::vector<std::string> row{thread == 0 ? lock : "", std::to_string(thread)};
                for (const column &one : columns)
                    row.push_back(fmt::format("{:.3f}", *part_of_time(rounds, thread, one.field)));
                rows.add_row(row);
                is_empty = false;
            }
        }
        if (!is_empty)
            text += fmt::format("Parts of the time that each of {} threads used a CPU, held the lock, and had the "
                                "opportunity to\n{}\n",
                                count, rows.text());
    }
    return text;
}

std::vector<std::string> thread_time_meanings() {
    std::vector<std::string> meanings;
    for (const column &one : columns)
        meanings.emplace_back(one.meaning);
    return meanings;
}

bool has_thread_times(const std::vector<result_record> &records) {
    return std::any_of(records.begin(), records.end(), [](const auto &one) { return !one.thread_times.empty(); });
}

heat_map thread_time_map(const std::vector<result_record> &records, const std::vector<std::string> &locks,
                         const std::vector<unsigned> &threads) {
    heat_map map;
    map.columns = locks;
    for (const column &shown : columns)
        map.panels.push_back({fmt::format("part of the time that the thread {}", shown.meaning), {}});
    for (unsigned count : threads) {
        for (std::size_t thread = 0; thread < count; thread++) {
            map.rows.push_back(fmt::format("{} of {}", thread, count));
            for (std::size_t i = 0; i < columns.size(); i++) {
                std::vector<heat_cell> row;
                for (const auto &lock : locks) {
                    auto part = part_of_time(rounds_with_times(records, lock, count), thread, columns[i].field);
                    row.push_back({part ? fmt::format("{:.3f}", *part) : "", part});
                }
                map.panels[i].rows.push_back(std::move(row));
            }
        }
    }
    return map;
}

} // namespace holdfast::cli
