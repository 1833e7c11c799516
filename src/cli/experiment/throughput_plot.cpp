// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/throughput_plot.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "cli/experiment/cell_summary.hpp"
#include "cli/experiment/lock_styles.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli {

plot throughput_plot(const std::string &workload, const std::vector<result_record> &records,
                     const std::vector<std::string> &locks, std::vector<unsigned> threads, unsigned cpus) {
    plot picture;
    picture.title = workload + ": throughput over threads";
    picture.x = {"threads", scale::binary, [](double count) { return fmt::format("{}", count); }};
    picture.y = {"operations per second", scale::logarithmic, format_round_count};
    picture.marked_x = cpus;
    picture.mark_label = format_number_of(cpus, "CPU");
    std::sort(threads.begin(), threads.end());
    std::vector<std::size_t> styles = styles_of(locks);
    for (std::size_t i = 0; i < locks.size(); i++) {
        plot_line line{locks[i], {}, styles[i]};
        for (unsigned count : threads) {
            cell_summary one = summarize(records, locks[i], count);
            if (one.ops_per_s && *one.ops_per_s > 0)
                line.points.push_back({double(count), *one.ops_per_s, *one.ops_per_s_min, *one.ops_per_s_max});
            else if (one.rounds > 0)
                line.points.push_back({double(count), 0, 0, 0, false});
        }
        picture.lines.push_back(line);
    }
    return picture;
}

} // namespace holdfast::cli
