// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/report/envelope.hpp"

#include <gtest/gtest.h>

namespace {

using namespace holdfast::cli;
using namespace holdfast::cli::report;

class envelope : public testing::Test {
protected:
    result_record &add(const std::string &lock, unsigned threads, unsigned round, double ops_per_s) {
        result_record one;
        one.workload = "shared-memory";
        one.lock = lock;
        one.threads = threads;
        one.round = round;
        one.background = background;
        one.ops_per_s = ops_per_s;
        one.cpu_s = 1;
        one.wait_p999_ns = 1e6;
        one.wait_max_ns = 1e7;
        if (threads > 1)
            one.fairness_factor = 0.5;
        return records.emplace_back(one);
    }

    workload_measurement measured() const {
        results file;
        file.about = {{"machine", "abacus"}, {"cpus", 2u},    {"kernel", "Linux 6.18"}, {"holdfast", "0.1"},
                      {"glibc", "2.36"},     {"date", "now"}, {"monitor", "present"},   {"command", "holdfast"}};
        for (const auto &one : records)
            file.records.emplace_back(one);
        return workload_measurement(file);
    }

    std::vector<result_record> records;
    unsigned background = 0;
};

TEST_F(envelope, compares_within_a_round) {
    for (auto [round, glibc, own] : {std::tuple(1u, 100, 150), std::tuple(2u, 1000, 800), std::tuple(3u, 10, 12)}) {
        add("glibc", 4, round, glibc);
        add("flexguard", 4, round, own);
    }
    auto of = measured();
    auto cells = envelope_of(of, own_lock(of));
    ASSERT_EQ(cells.size(), 1u);
    const envelope_cell &cell = cells[0];
    EXPECT_DOUBLE_EQ(*cell.to_glibc, 1.2); // of 1.5, 0.8 and 1.2; not 150 over 100
    EXPECT_DOUBLE_EQ(*cell.to_best, 1.2);
    EXPECT_EQ(cell.best, "glibc");
    EXPECT_DOUBLE_EQ(*cell.cpu_to_glibc, 1 / 1.2);
}

TEST_F(envelope, knows_the_best_peer_and_the_best_that_starves_nobody) {
    add("glibc", 4, 1, 100);
    add("flexguard", 4, 1, 120);
    add("default", 4, 1, 1000); // ours, too
    add("ttas", 4, 1, 240).fairness_factor = 0.71;
    add("mcs_tp", 4, 1, 150).fairness_factor = 0.7;
    auto of = measured();
    auto cells = envelope_of(of, "flexguard");
    EXPECT_EQ(cells.at(0).best, "ttas");
    EXPECT_DOUBLE_EQ(*cells.at(0).to_best, 0.5);
    EXPECT_EQ(cells.at(0).best_fair, "mcs_tp");
    EXPECT_DOUBLE_EQ(*cells.at(0).to_best_fair, 0.8);
}

TEST_F(envelope, takes_the_longest_wait_of_all_rounds) {
    for (unsigned round : {1u, 2u, 3u}) {
        add("glibc", 4, round, 100).wait_max_ns = round * 1e6;
        add("flexguard", 4, round, 100).wait_max_ns = (4 - round) * 2e6;
    }
    auto of = measured();
    auto cells = envelope_of(of, "flexguard");
    EXPECT_DOUBLE_EQ(*cells.at(0).wait_max_ns, 6e6);
    EXPECT_DOUBLE_EQ(*cells.at(0).max_to_glibc, 2);
}

TEST_F(envelope, counts_the_background_among_those_that_want_a_cpu) {
    for (unsigned threads : {1u, 2u, 3u})
        add("glibc", threads, 1, 100), add("flexguard", threads, 1, 100);
    auto alone = measured();
    std::vector<bool> oversubscribed;
    for (const auto &cell : envelope_of(alone, "flexguard"))
        oversubscribed.push_back(cell.oversubscribed);
    EXPECT_EQ(oversubscribed, (std::vector<bool>{false, false, true}));

    records.clear();
    background = 2;
    add("glibc", 1, 1, 100);
    add("flexguard", 1, 1, 100);
    auto loaded = measured();
    EXPECT_TRUE(envelope_of(loaded, "flexguard").at(0).oversubscribed);
}

TEST_F(envelope, has_nothing_where_a_cell_went_wrong) {
    add("glibc", 4, 1, 100).status = cell_status::timeout;
    add("flexguard", 4, 1, 100);
    auto of = measured();
    auto cells = envelope_of(of, "flexguard");
    EXPECT_EQ(cells.at(0).to_glibc, std::nullopt);
    EXPECT_EQ(cells.at(0).best, "");
    EXPECT_EQ(cells.at(0).to_best, std::nullopt);
}

TEST_F(envelope, keeps_nothing_where_our_mutex_came_to_grief) {
    for (unsigned round : {1u, 2u}) {
        add("glibc", 4, round, 100);
        add("flexguard", 4, round, 200);
    }
    records.back().status = cell_status::crash;
    std::vector<workload_measurement> all;
    all.push_back(measured());
    section made = envelope_section(all, {});
    ASSERT_EQ(made.figures.size(), 2u);
    for (const auto &row : made.figures[0].table.rows)
        EXPECT_EQ(row.back().is, verdict::missed) << row[1].text << ": " << row[2].text;
    const auto &to_glibc = made.figures[1].table.rows.at(1);
    EXPECT_EQ(to_glibc.at(1).text, "2.00x*");
    EXPECT_EQ(to_glibc.at(1).is, verdict::missed);
}

TEST_F(envelope, needs_our_mutex) {
    add("glibc", 4, 1, 100);
    auto of = measured();
    EXPECT_EQ(own_lock(of), "");
    std::vector<workload_measurement> all;
    all.push_back(measured());
    EXPECT_TRUE(envelope_section(all, {}).figures.empty());
}

} // namespace
