// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/duration_counts.hpp"

#include <gtest/gtest.h>

namespace {

using namespace holdfast::cli;
using json = nlohmann::ordered_json;

TEST(duration_counts, tells_which_share_is_shorter) {
    duration_counts waits;
    waits.add(100, 90);
    waits.add(1e6, 9);
    waits.add(2e9, 1);
    auto shares = waits.shares();
    ASSERT_FALSE(shares.empty());
    EXPECT_EQ(shares.back().share, 1);
    for (const auto &point : shares) {
        double expected = point.ns <= 100 ? 0 : point.ns <= 1e6 ? 0.9 : point.ns <= 2e9 ? 0.99 : 1;
        EXPECT_DOUBLE_EQ(point.share, expected) << point.ns;
    }
    // The bounds around a value are a quarter of a power of two apart.
    EXPECT_GT(shares.front().ns, 100);
    EXPECT_LT(shares.front().ns, 100 * 1.2);
}

TEST(duration_counts, adds_up_whatever_comes_first) {
    duration_counts some, others, all;
    some.add(5000, 2);
    others.add(10, 1);
    others.add(1e8, 4);
    for (auto *into : {&all}) {
        into->add(5000, 2);
        into->add(1e8, 4);
        into->add(10, 1);
    }
    some.merge(others);
    EXPECT_EQ(json(some), json(all));
}

TEST(duration_counts, keeps_what_no_bound_is_made_for) {
    duration_counts waits;
    waits.add(0, 1);
    waits.add(1e300, 1);
    EXPECT_EQ(waits.shares().size(), 256u);
    EXPECT_EQ(waits.shares().back().share, 1);
}

TEST(duration_counts, survives_a_round_trip) {
    duration_counts waits;
    for (double ns = 1; ns < 1e11; ns *= 1.7)
        waits.add(ns, 3);
    json written = waits;
    EXPECT_EQ(json(written.get<duration_counts>()), written);
}

TEST(duration_counts, refuses_what_is_none) {
    for (const char *text : {R"({"first": 300, "counts": [1]})", R"({"first": 255, "counts": [1, 1]})",
                             R"({"first": 0, "counts": "many"})", R"({"first": 0, "counts": ["many"]})", "[]"})
        EXPECT_THROW(json::parse(text).get<duration_counts>(), json::exception) << text;
}

} // namespace
