// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/result_record.hpp"

#include <gtest/gtest.h>
#include <set>

namespace {

using namespace holdfast::cli;

result_record full_record() {
    result_record record;
    record.workload = "shared-memory";
    record.lock = "flexguard";
    record.threads = 16;
    record.background = 4;
    record.round = 2;
    record.ops_per_s = 5.5e6;
    record.wait_mean_ns = 87.5;
    record.wait_p50_ns = 80;
    record.wait_p99_ns = 1e3;
    record.wait_p999_ns = 2e4;
    record.wait_max_ns = 3e7;
    record.fairness_factor = 0.51;
    record.jain_ops = 0.99;
    record.jain_hold = 0.98;
    record.share_error = 0.02;
    record.cpu_s = 0.75;
    record.context_switches = 12;
    record.migrations = 3;
    record.arguments = "--bystanders 2";
    record.burden_jain = 0.97;
    record.same_worker = 0.96;
    record.same_worker_calm = 0.5;
    record.line_ns = 27;
    record.bystander_turns_per_s = 2e4;
    record.bystander_share = 1.5;
    record.delay_mean_ns = 30;
    record.delay_p50_ns = 20;
    record.delay_p99_ns = 50;
    record.delay_max_ns = 7e4;
    record.between_us = 2.5;
    record.slice_us = 2000;
    record.section_us = 0.5;
    record.measured_s = 0.5;
    record.spins = 1e6;
    record.wait_counts.add(80, 1000);
    record.wait_counts.add(3e7, 1);
    record.delay_counts.add(20, 900);
    record.runnable = {{10.5, 3}, {20, 0}};
    record.thread_times = {{0.4, 0.3, 0.5}, {0.1, 0.0, 0.2}};
    return record;
}

std::set<std::string> fields_of(const json &object) {
    std::set<std::string> names;
    for (const auto &item : object.items())
        names.insert(item.key());
    return names;
}

TEST(result_record, has_the_documented_fields) {
    const std::set<std::string> documented = {"workload",        "lock",
                                              "threads",         "background",
                                              "round",           "status",
                                              "ops_per_s",       "wait_mean_ns",
                                              "wait_p99_ns",     "wait_p999_ns",
                                              "wait_max_ns",     "fairness_factor",
                                              "jain_ops",        "jain_hold",
                                              "cpu_s",           "context_switches",
                                              "wait_p50_ns",     "share_error",
                                              "arguments",       "burden_jain",
                                              "same_worker",     "same_worker_calm",
                                              "line_ns",         "delay_mean_ns",
                                              "delay_p50_ns",    "delay_p99_ns",
                                              "delay_max_ns",    "bystander_turns_per_s",
                                              "bystander_share", "between_us",
                                              "slice_us",        "section_us",
                                              "spins",           "measured_s",
                                              "wait_counts",     "delay_counts",
                                              "runnable",        "thread_times",
                                              "migrations"};
    EXPECT_EQ(fields_of(json(full_record())), documented);
}

TEST(result_record, leaves_out_what_was_not_measured) {
    result_record record;
    record.status = cell_status::timeout;
    json object = record;
    const std::set<std::string> always = {"workload", "lock", "threads", "background", "round", "status"};
    EXPECT_EQ(fields_of(object), always);
    EXPECT_EQ(object.at("status"), "timeout");
}

TEST(result_record, survives_a_round_trip) {
    json object = full_record();
    auto again = json::parse(object.dump()).get<result_record>();
    EXPECT_EQ(json(again), object);
}

TEST(result_record, knows_every_status) {
    for (cell_status status : {cell_status::ok, cell_status::timeout, cell_status::crash, cell_status::failed}) {
        result_record record = full_record();
        record.status = status;
        EXPECT_EQ(json(record).get<result_record>().status, status);
    }
}

// As bench wrote them before files had a version.
TEST(result_record, reads_those_of_version_1) {
    auto record = json::parse(R"({"workload": "shared-memory", "lock": "mcs", "threads": 4, "background": 0, "round": 1,
        "status": "ok", "ops_per_s": 13000, "wait_p999_ns": 3e6, "cpu_s": 0.5})")
                      .get<result_record>();
    EXPECT_EQ(record.ops_per_s, 13000);
    EXPECT_EQ(record.measured_s, std::nullopt);
    EXPECT_TRUE(record.wait_counts.empty());
    EXPECT_TRUE(record.runnable.empty());
}

TEST(result_record, refuses_counts_that_are_none) {
    for (const json &threads : {json(-1), json(0), json(1.5), json(4'000'000'000u)}) {
        json object = full_record();
        object["threads"] = threads;
        EXPECT_THROW(object.get<result_record>(), json::exception) << threads;
    }
}

TEST(result_record, refuses_what_is_none) {
    EXPECT_THROW(json::parse("[]").get<result_record>(), json::exception);
    EXPECT_THROW(json::parse("{}").get<result_record>(), json::exception);
    json object = full_record();
    object["status"] = "fine";
    EXPECT_THROW(object.get<result_record>(), json::exception);
    object = full_record();
    object["ops_per_s"] = "many";
    EXPECT_THROW(object.get<result_record>(), json::exception);
}

} // namespace
