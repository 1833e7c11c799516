// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/table.hpp"

#include <gtest/gtest.h>

#include "measure/quantity.hpp"

namespace {

using namespace holdfast::cli;

TEST(table, sets_names_left_and_numbers_right) {
    table rows({"lock", "1", "16"});
    rows.add_row({"glibc", "7", "123"});
    rows.add_row({"mcs", "10.5", ""});
    EXPECT_EQ(rows.text(), "lock      1   16\n"
                           "glibc     7  123\n"
                           "mcs    10.5\n");
}

TEST(table, continues_below_when_it_is_too_wide) {
    table rows({"lock", "one", "two", "three"});
    rows.add_row({"mcs", "1", "2", "3"});
    EXPECT_EQ(rows.text(14), "lock  one  two\n"
                             "mcs     1    2\n"
                             "\n"
                             "lock  three\n"
                             "mcs       3\n");
}

TEST(table, stands_a_column_that_is_wider_than_allowed) {
    table rows({"lock", "a very long header"});
    rows.add_row({"mcs", "1"});
    EXPECT_EQ(rows.text(10), "lock  a very long header\nmcs                    1\n");
}

TEST(quantity, has_three_digits_and_a_unit) {
    EXPECT_EQ(format_count(0), "0");
    EXPECT_EQ(format_count(4.6), "4.60");
    EXPECT_EQ(format_count(950), "950");
    EXPECT_EQ(format_count(999.7), "1.00k");
    EXPECT_EQ(format_count(13240), "13.2k");
    EXPECT_EQ(format_count(5534000), "5.53M");
    EXPECT_EQ(format_count(99960000), "100M");
    EXPECT_EQ(format_duration_ns(87.4), "87ns");
    EXPECT_EQ(format_duration_ns(4510000), "4.51ms");
    EXPECT_EQ(format_duration_ns(90e9), "90.0s");
    EXPECT_EQ(format_round_count(2e6), "2M");
    EXPECT_EQ(format_round_count(500), "500");
    EXPECT_EQ(format_ratio(1.037), "1.04x");
    EXPECT_EQ(format_ratio(0.0023), "0.002x");
    EXPECT_EQ(format_ratio(2e-6), "<0.001x");
    EXPECT_EQ(format_ratio(123.4), "123x");
    EXPECT_EQ(format_minutes(42), "0:42");
    EXPECT_EQ(format_minutes(3723), "1:02:03");
    EXPECT_EQ(format_measured(123456.4), "123456");
    EXPECT_EQ(format_measured(0.001234), "0.001234");
}

} // namespace
