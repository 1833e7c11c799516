// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/cell_summary.hpp"

#include <gtest/gtest.h>
#include <sstream>

namespace {

using namespace holdfast::cli;

result_record cell(const std::string &lock, unsigned threads, unsigned round, double ops_per_s,
                   cell_status status = cell_status::ok) {
    result_record record;
    record.workload = "shared-memory";
    record.lock = lock;
    record.threads = threads;
    record.round = round;
    record.status = status;
    if (status == cell_status::ok) {
        record.ops_per_s = ops_per_s;
        record.wait_p999_ns = 1e9 / ops_per_s;
        record.wait_max_ns = 2e9 / ops_per_s;
    }
    return record;
}

const std::vector<result_record> records = {
    cell("glibc", 2, 1, 100), cell("mcs", 2, 1, 50),
    cell("glibc", 2, 2, 400), cell("mcs", 2, 2, 100),
    cell("glibc", 2, 3, 200), cell("mcs", 2, 3, 0, cell_status::timeout),
    cell("glibc", 4, 1, 10),  cell("mcs", 4, 1, 0, cell_status::crash),
};

TEST(summarize, takes_medians_over_rounds) {
    cell_summary glibc = summarize(records, "glibc", 2);
    EXPECT_EQ(glibc.rounds, 3u);
    EXPECT_EQ(glibc.rounds_ok, 3u);
    EXPECT_EQ(glibc.ops_per_s, 200);
    EXPECT_EQ(glibc.ops_per_s_min, 100);
    EXPECT_EQ(glibc.ops_per_s_max, 400);
    EXPECT_EQ(glibc.ratio_to_glibc, 1);
    EXPECT_EQ(glibc.wait_max_ns, 2e7);
}

TEST(summarize, compares_within_a_round) {
    cell_summary mcs = summarize(records, "mcs", 2);
    EXPECT_EQ(mcs.ratio_to_glibc, 0.375); // of 0.5 and 0.25; not 75 over 200
    EXPECT_EQ(mcs.rounds_ok, 2u);
    EXPECT_EQ(mcs.trouble, "timeout");
}

TEST(summarize, has_no_figures_without_a_good_round) {
    cell_summary mcs = summarize(records, "mcs", 4);
    EXPECT_EQ(mcs.rounds, 1u);
    EXPECT_EQ(mcs.rounds_ok, 0u);
    EXPECT_EQ(mcs.ops_per_s, std::nullopt);
    EXPECT_EQ(mcs.ratio_to_glibc, std::nullopt);
    EXPECT_EQ(summarize(records, "mcs", 64).rounds, 0u);
}

TEST(cell_tables, show_trouble_in_place_of_figures) {
    std::string text = cell_tables(records, {"glibc", "mcs"}, {2, 4});
    EXPECT_NE(text.find("glibc    200     10\n"), std::string::npos) << text;
    EXPECT_NE(text.find("mcs      75*  crash\n"), std::string::npos) << text;
    EXPECT_NE(text.find("* not all rounds ended well"), std::string::npos) << text;
}

// Shown able to fail: with the interval of the throughput itself.
TEST(cell_tables, tell_where_each_ratio_lies) {
    std::vector<result_record> cells = {cell("glibc", 2, 1, 100), cell("mcs", 2, 1, 50), cell("glibc", 2, 2, 400),
                                        cell("mcs", 2, 2, 100)};
    EXPECT_EQ(cell_tables(cells, {"glibc", "mcs"}, {2}).find("9 of 10"), std::string::npos)
        << "of two rounds there is none";
    cells.push_back(cell("glibc", 2, 3, 200));
    cells.push_back(cell("mcs", 2, 3, 200));
    std::string text = cell_tables(cells, {"glibc", "mcs"}, {2});
    std::string title = "Where that lies in some 9 of 10 such measurements\n";
    EXPECT_NE(text.find(title), std::string::npos) << text;
    EXPECT_NE(text.find("mcs      0.25 to 1.00\n"), std::string::npos) << text;
}

TEST(cell_tables, of_coroutines_compare_with_dispatch) {
    std::vector<result_record> cells = {cell("ces", 2, 1, 300), cell("dispatch", 2, 1, 200), cell("ces", 2, 2, 100),
                                        cell("dispatch", 2, 2, 100), cell("go", 2, 1, 0, cell_status::absent)};
    for (auto &one : cells) {
        one.wait_p999_ns.reset();
        one.wait_max_ns.reset();
    }
    cells[0].burden_jain = 0.75;
    EXPECT_EQ(summarize(cells, "ces", 2).ratio_to_dispatch, 1.25);
    std::string text = cell_tables(cells, {"ces", "dispatch", "go"}, {2});
    EXPECT_NE(text.find("Ratio to dispatch in the same round, median (above 1: faster)"), std::string::npos) << text;
    EXPECT_NE(text.find("go        absent\n"), std::string::npos) << text;
    EXPECT_NE(text.find("ces         0.75\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("Time from request"), std::string::npos) << text;
    EXPECT_EQ(text.find("Bystanders"), std::string::npos) << text;
}

TEST(cell_tables, leave_ratios_out_without_glibc) {
    EXPECT_EQ(cell_tables(records, {"mcs"}, {2, 4}).find("Ratio"), std::string::npos);
}

} // namespace
