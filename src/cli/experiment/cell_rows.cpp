// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/cell_rows.hpp"

#include "cli/common/csv.hpp"

namespace holdfast::cli {
namespace {

struct summary_column {
    const char *name;
    std::optional<double> cell_summary::*field;
};

// Beside those of each cell. `vs dispatch` is of coroutine locks.
constexpr summary_column summary_columns[] = {
    {"ops/s", &cell_summary::ops_per_s},
    {"min", &cell_summary::ops_per_s_min},
    {"max", &cell_summary::ops_per_s_max},
    {"sigma", &cell_summary::ops_per_s_sigma},
    {"vs glibc", &cell_summary::ratio_to_glibc},
    {"vs dispatch", &cell_summary::ratio_to_dispatch},
    {"wait p50 ns", &cell_summary::wait_p50_ns},
    {"wait p99.9 ns", &cell_summary::wait_p999_ns},
    {"wait max ns", &cell_summary::wait_max_ns},
    {"fairness factor", &cell_summary::fairness_factor},
    {"Jain hold", &cell_summary::jain_hold},
    {"share error", &cell_summary::share_error},
    {"delay p50 ns", &cell_summary::delay_p50_ns},
    {"delay p99 ns", &cell_summary::delay_p99_ns},
    {"delay max ns", &cell_summary::delay_max_ns},
    {"Jain sections", &cell_summary::burden_jain},
    {"same worker", &cell_summary::same_worker},
    {"same worker calm", &cell_summary::same_worker_calm},
    {"bystander turns/s", &cell_summary::bystander_turns_per_s},
    {"bystander share", &cell_summary::bystander_share},
};

std::string status_of(const cell_summary &cell) {
    if (cell.rounds == 0)
        return "not measured";
    return cell.trouble.empty() ? "ok" : cell.trouble;
}

} // namespace

std::string cell_rows(const std::vector<result_record> &records, const std::vector<contender> &contenders,
                      const std::vector<unsigned> &threads, const std::vector<double> &sections_us, table_form form) {
    std::vector<std::string> header{"lock", "slice us", "section us", "threads", "status", "rounds", "rounds ok"};
    for (const summary_column &one : summary_columns)
        header.emplace_back(one.name);
    header.insert(header.end(), {"ratio from", "ratio to"});
    exported_table rows(form, header);
    std::vector<std::optional<double>> sections(sections_us.begin(), sections_us.end());
    if (sections.empty())
        sections.emplace_back();
    for (auto section_us : sections) {
        for (unsigned count : threads) {
            for (const contender &whose : contenders) {
                cell_summary cell = summary_of(records, whose, section_us, count);
                std::vector<std::string> fields{
                    whose.lock,      csv_number(whose.slice_us),  csv_number(section_us),        std::to_string(count),
                    status_of(cell), std::to_string(cell.rounds), std::to_string(cell.rounds_ok)};
                for (const summary_column &one : summary_columns)
                    fields.push_back(csv_number(cell.*one.field));
                const std::optional<interval> &within = cell.ratio_to_glibc ? cell.within_glibc : cell.within_dispatch;
                fields.push_back(csv_number(within ? std::optional(within->low) : std::nullopt));
                fields.push_back(csv_number(within ? std::optional(within->high) : std::nullopt));
                rows.add_row(fields);
            }
        }
    }
    return rows.text();
}

} // namespace holdfast::cli
