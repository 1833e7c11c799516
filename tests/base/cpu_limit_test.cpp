// SPDX-License-Identifier: MIT OR Apache-2.0
// A limit of CPU time is read as cgroups of both versions tell it: here in directories made up for it.
//
// Shown able to fail, each by the test named: with the group's own limit alone (TheSmallestOfItsAncestorsCounts,
// AContainerToldItsHostsPlace); with a name that merely begins with "cpu" taken for the controller's
// (OtherControllersSetNone); with a period of 100 ms taken for granted (APeriodOfItsOwn).
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "base/cpu_limit.h"

namespace {

class cpu_limit : public testing::Test {
protected:
    std::filesystem::path top_ = testing::TempDir() + "holdfast-cpu-limit-" + std::to_string(getpid());

    void TearDown() override { std::filesystem::remove_all(top_); }

    void write(const std::string &name, const std::string &content) const {
        std::filesystem::path path = top_ / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << content;
    }

    // In microseconds.
    void limit_version_1(const std::string &group, const std::string &quota, const std::string &period) const {
        write(group + "/cpu.cfs_quota_us", quota + "\n");
        write(group + "/cpu.cfs_period_us", period + "\n");
    }

    // As the kernel tells a process that is in these groups.
    uint32_t of(const std::string &groups) const {
        write("groups", groups);
        return hf_cpu_limit_read((top_ / "groups").c_str(), top_.c_str());
    }
};

TEST_F(cpu_limit, OfVersion2) {
    write("a/cpu.max", "50000 100000\n");
    EXPECT_EQ(of("0::/a\n"), 500u);
    write("a/cpu.max", "350000 100000\n");
    EXPECT_EQ(of("0::/a\n"), 3500u);
    write("a/cpu.max", "max 100000\n");
    EXPECT_EQ(of("0::/a\n"), HF_NO_CPU_LIMIT);
}

TEST_F(cpu_limit, OfVersion1) {
    limit_version_1("cpu/a", "150000", "100000");
    EXPECT_EQ(of("12:cpuset:/\n5:cpu,cpuacct:/a\n0::/\n"), 1500u);
    EXPECT_EQ(of("5:cpuacct,cpu:/a\n"), 1500u);
    EXPECT_EQ(of("5:cpu:/a"), 1500u) << "and no line's end";
    write("cpu/a/cpu.cfs_quota_us", "-1\n");
    EXPECT_EQ(of("5:cpu,cpuacct:/a\n"), HF_NO_CPU_LIMIT);
}

TEST_F(cpu_limit, APeriodOfItsOwn) {
    write("a/cpu.max", "5000 10000\n");
    EXPECT_EQ(of("0::/a\n"), 500u);
    limit_version_1("cpu/a", "10000", "40000");
    EXPECT_EQ(of("5:cpu:/a\n"), 250u);
}

TEST_F(cpu_limit, TheSmallestOfItsAncestorsCounts) {
    write("a/b/c/cpu.max", "200000 100000\n");
    write("a/cpu.max", "100000 100000\n");
    write("a/b/cpu.max", "max 100000\n");
    EXPECT_EQ(of("0::/a/b/c\n"), 1000u);
    write("cpu.max", "70000 100000\n");
    EXPECT_EQ(of("0::/a/b/c\n"), 700u);
    write("a/b/c/cpu.max", "60000 100000\n");
    EXPECT_EQ(of("0::/a/b/c\n"), 600u);
}

TEST_F(cpu_limit, OfTheUpmostGroup) {
    write("cpu.max", "70000 100000\n");
    EXPECT_EQ(of("0::/\n"), 700u) << "as in a container with a namespace of its own";
}

TEST_F(cpu_limit, AContainerToldItsHostsPlace) {
    limit_version_1("cpu", "50000", "100000");
    EXPECT_EQ(of("5:cpu,cpuacct:/docker/0123456789abcdef\n"), 500u);
}

TEST_F(cpu_limit, TheSmallerOfBothVersions) {
    write("a/cpu.max", "80000 100000\n");
    limit_version_1("cpu/a", "60000", "100000");
    EXPECT_EQ(of("5:cpu:/a\n0::/a\n"), 600u);
}

TEST_F(cpu_limit, OtherControllersSetNone) {
    limit_version_1("cpu/a", "60000", "100000");
    EXPECT_EQ(of("3:cpuset:/a\n4:cpuacct:/a\n5:name=cpu:/a\n6:xcpu:/a\n7:cp:/a\n"), HF_NO_CPU_LIMIT);
}

TEST_F(cpu_limit, NothingToRead) {
    EXPECT_EQ(hf_cpu_limit_read((top_ / "nowhere").c_str(), top_.c_str()), HF_NO_CPU_LIMIT);
    EXPECT_EQ(of("0::/a\n"), HF_NO_CPU_LIMIT);
    EXPECT_EQ(of(""), HF_NO_CPU_LIMIT);
    EXPECT_EQ(of("\n\nno line of the kernel's\n0:"), HF_NO_CPU_LIMIT);
    write("a/cpu.max", "");
    EXPECT_EQ(of("0::/a\n"), HF_NO_CPU_LIMIT);
    write("a/cpu.max", "100000 0\n");
    EXPECT_EQ(of("0::/a\n"), HF_NO_CPU_LIMIT);
}

TEST_F(cpu_limit, APlaceThatIsTooLongIsLeftOut) {
    write("cpu.max", "50000 100000\n");
    EXPECT_EQ(of("0::/" + std::string(5000, 'a') + "\n"), HF_NO_CPU_LIMIT);
    limit_version_1("cpu/b", "60000", "100000");
    EXPECT_EQ(of("0::/" + std::string(5000, 'a') + "\n5:cpu:/b\n"), 600u) << "and the next line is read";
}

} // namespace
