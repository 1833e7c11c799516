// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/results_file.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "cli/common/exit_status.hpp"

namespace {

using namespace holdfast::cli;

class results_file : public testing::Test {
protected:
    ~results_file() override { std::filesystem::remove(path_); }

    std::string written(const std::string &content) {
        std::ofstream(path_, std::ios::binary) << content;
        return path_;
    }

    // What it says of a file that it refuses.
    std::string complaint(const std::string &content) {
        try {
            read_results(written(content));
        } catch (const usage_error &error) {
            return error.what();
        }
        return "none";
    }

private:
    std::string path_ = testing::TempDir() + "results_file_test." + std::to_string(getpid()) + ".json";
};

json about_with(const json &options) {
    return {{"machine", "abacus"}, {"cpus", 2},         {"kernel", "Linux 6.18"},
            {"glibc", "2.36"},     {"holdfast", "0.1"}, {"monitor", "present"},
            {"options", options}};
}

TEST_F(results_file, is_read_as_it_was_written) {
    json about = about_with({{"rounds", 3}});
    results read = read_results(written(results_text(about, {R"({"lock":"mcs"})", R"({"lock":"clh"})"})));
    EXPECT_EQ(read.version, results_version);
    EXPECT_EQ(read.about, about);
    ASSERT_EQ(read.records.size(), 2u);
    EXPECT_EQ(read.records[1].at("lock"), "clh");
}

TEST_F(results_file, of_version_1_does_not_say_so) {
    results read = read_results(written(R"({"about": {}, "records": []})"));
    EXPECT_EQ(read.version, 1u);
}

TEST_F(results_file, is_refused_with_the_reason) {
    EXPECT_NE(complaint("").find("is empty"), std::string::npos);
    EXPECT_NE(complaint(" \n").find("is empty"), std::string::npos);
    EXPECT_NE(complaint("figures").find("is not JSON"), std::string::npos);
    EXPECT_NE(complaint(R"({"about": {}, "records": [)").find("is cut off after 26 bytes"), std::string::npos);
    EXPECT_NE(complaint(R"({"about": 1e999})").find("is not a results file"), std::string::npos);
    EXPECT_NE(complaint("7").find("is not a results file"), std::string::npos);
    EXPECT_NE(complaint(R"({"about": {}})").find("it has no \"records\""), std::string::npos);
    EXPECT_NE(complaint(R"({"about": [], "records": []})").find("is not a results file"), std::string::npos);
    EXPECT_NE(complaint(R"({"version": 3, "about": {}, "records": []})").find("of version 3"), std::string::npos);
    EXPECT_NE(complaint(R"({"version": "x", "about": {}, "records": []})").find("not a number"), std::string::npos);
    EXPECT_NE(complaint(std::string(32, '[')).find("is cut off"), std::string::npos);
    EXPECT_NE(complaint(std::string(100'000, '[')).find("nested more than 32 deep"), std::string::npos);
}

TEST_F(results_file, that_is_not_there_or_has_no_end_is_refused) {
    EXPECT_THROW(read_results("/nonexistent/cells.json"), usage_error);
    EXPECT_THROW(read_results("/"), usage_error);
    EXPECT_THROW(read_results("/dev/zero"), usage_error);
}

TEST(difference, is_none_when_only_more_rounds_are_asked_for) {
    EXPECT_EQ(difference(about_with({{"rounds", 3}, {"seconds", 1}}), about_with({{"rounds", 3}, {"seconds", 1}})), "");
    EXPECT_EQ(difference(about_with({{"rounds", 3}}), about_with({{"rounds", 7}})), "");
    EXPECT_EQ(difference(about_with({{"rounds", 7}}), about_with({{"rounds", 3}})), "its rounds is 7, here it is 3");
}

TEST(difference, is_told_by_what_differs_first) {
    json here = about_with({{"locks", {"mcs"}}, {"seconds", 1}}), there = here;
    there["kernel"] = "Linux 7.0";
    EXPECT_EQ(difference(there, here), "its kernel is Linux 7.0, here it is Linux 6.18");
    there = here;
    there["options"]["seconds"] = 2;
    EXPECT_EQ(difference(there, here), "its seconds is 2, here it is 1");
    there["options"].erase("seconds");
    EXPECT_EQ(difference(there, here), "its seconds is null, here it is 1");
    there.erase("options");
    EXPECT_NE(difference(there, here), "");
}

} // namespace
